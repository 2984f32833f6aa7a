# What the scripts behind this one share: a git that heeds neither the environment
# nor its user, and finding the repository. They need bash, git and a few of the
# usual small programs, and run nothing that the repository or its user has set up.
shopt -s nullglob extglob
given=${GIT_DIR:-}
abbrev= # core.abbrev, as the user or the system has set it
[[ ${2:-} == @(keep|known) ]] || abbrev=$(cd / && git config --get core.abbrev 2>/dev/null)
for name in "${!GIT_@}"; do unset "$name"; done
export LC_ALL=C HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null GIT_OPTIONAL_LOCKS=0
unset CDPATH

git() {
	command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c protocol.allow=never \
		-c pack.packSizeLimit=0 -c pack.writeReverseIndex=false -c core.commitGraph=false -c core.fsync=none "$@"
}

# locate sets dir to the git directory given, or without one to that of the nearest
# repository, and top to where it was found. With the directory given to it, git
# does not ask who owns it.
locate() {
	local line
	top=$PWD dir=$1
	[[ $dir ]] && { dir=$(cd -- "$dir" 2>/dev/null && pwd -P); [[ $dir ]]; return; }
	for ((;;)); do
		for dir in "$top/.git" "$top"; do
			if [[ -f $dir ]] && read -r line <"$dir" && [[ $line == 'gitdir: '* ]]; then
				dir=$(cd -- "$top" && cd -- "${line#gitdir: }" 2>/dev/null && pwd -P)
			elif [[ -d $dir ]]; then
				dir=$(cd -- "$dir" && pwd -P)
			fi
			[[ $dir && (-f $dir/HEAD || -L $dir/HEAD) && (-d $dir/objects || -f $dir/commondir) ]] && return
		done
		[[ $top == / ]] && return 1
		top=${top%/*} top=${top:-/}
	done
}

