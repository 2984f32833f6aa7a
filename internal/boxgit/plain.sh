# What the other scripts do, in a container without bash, for a plain repository: one in which git's files
# are where git init puts them, without submodules and other working trees. All others are refused, since a
# part of their history could be left. It needs sh, git and the usual small programs.
report() { # verdict, refs, objects
	printf '\ngitscrub: %s, %d refs, %d objects\n' "$1" "${2:-0}" "${3:-0}"
	exit 0
}

fail() {
	printf '%s\n' "$*" 'without bash in the image, this repository cannot be scrubbed'
	exit 1
}

fact() { printf 'base: %s %s\n' "$1" "$2"; } # name, value

git() {
	command git -c advice.graftFileDeprecated=false -c core.hooksPath=/dev/null -c core.fsmonitor=false -c protocol.allow=never \
		-c pack.packSizeLimit=0 -c pack.writeReverseIndex=false -c core.commitGraph=false -c core.fsync=none "$@"
}

# compare says how HEAD stands to a commit, and sets apart if HEAD's history does not have it.
compare() { # id of a commit, perhaps abbreviated
	case $head in "$1"*) return ;; esac
	commit=$(git rev-parse -q --verify "$1^{commit}" 2>/dev/null) && counts=$(git rev-list --left-right --count "$commit...$head" 2>/dev/null) || return 0
	[ "${counts%%	*}" = 0 ] || apart=1
	fact behind "${counts%%	*}"
	fact ahead "${counts##*	}"
	lines=$(git -c core.quotePath=true diff-tree -r --name-only --ignore-submodules=none "$commit" "$head" 2>/dev/null) || return 0
	[ ! "$lines" ] || {
		fact changed "$(printf '%s\n' "$lines" | wc -l | tr -d ' ')"
		printf '%s\n' "$lines" | sed -n '1,100s/^/base: changed-file /p'
	}
	fact commit "$commit" # last: without it, nothing is known
}

count() { git count-objects -v | sed -n 's/^count: //p;s/^in-pack: //p' | { read -r loose && read -r packed && echo $((loose + packed)); }; }

given=${GIT_DIR:-}
for name in $(env | sed -n 's/^\(GIT_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$name"; done
unset CDPATH
export LC_ALL=C HOME=/nonexistent XDG_CONFIG_HOME=/nonexistent GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null GIT_OPTIONAL_LOCKS=0
command -v git >/dev/null || {
	fact none git
	report 'no git'
}
top=$(pwd -P)
until [ -e "$top/.git" ] || [ -L "$top/.git" ]; do
	[ ! -f "$top/HEAD" ] || [ ! -d "$top/objects" ] || fail "$top is a repository without a working tree"
	[ "$top" != / ] || {
		fact none repository
		[ "$2" = keep ] || [ ! "$given" ] || fail 'GIT_DIR is set'
		report 'no repository'
	}
	top=${top%/*} top=${top:-/}
done
export GIT_DIR="${top%/}/.git"
plain= apart=
[ ! -d "$GIT_DIR" ] || [ -L "$GIT_DIR" ] || plain=1
head=$(git rev-parse -q --verify 'HEAD^{commit}' 2>/dev/null) && fact head "$head" || fact none commit
[ ! "$head" ] || [ ! "$1" ] || compare "$1"
[ "$2" != keep ] || report kept

[ "$plain" ] && [ "$head" ] && [ ! "$given" ] && [ ! "$apart" ] && [ "$2" != share ] || fail "$GIT_DIR is not plain"
for name in commondir gitdir modules worktrees reftable objects/info/alternates ../.gitmodules; do
	[ ! -e "$GIT_DIR/$name" ] && [ ! -L "$GIT_DIR/$name" ] || fail "$GIT_DIR has $name"
done
for name in objects objects/pack refs HEAD config info packed-refs; do
	[ ! -L "$GIT_DIR/$name" ] || fail "$GIT_DIR has $name elsewhere"
done
for name in "$GIT_DIR"/objects/pack/*.promisor; do
	[ ! -e "$name" ] || fail "$GIT_DIR is a partial clone"
done
[ ! "$(git for-each-ref refs/replace)" ] || fail "$GIT_DIR replaces objects"
branch=$(git symbolic-ref -q HEAD)
new=$GIT_DIR/batch-scrub
rm -rf -- "$new" && mkdir -p -- "$new/pack" || fail "writing into $GIT_DIR"
tags=$(git for-each-ref --merged "$head" --format='%(refname)' refs/tags 2>/dev/null)
total=$(count) && git rev-list --objects --indexed-objects "$head" $tags >"$new/list" || fail "listing what HEAD needs in $GIT_DIR"
cut -d' ' -f1 "$new/list" | sort -u >"$new/ids" && git pack-objects -q --delta-base-offset --window=0 "$new/pack/pack" <"$new/ids" >/dev/null || fail "writing a pack into $GIT_DIR"
kept=" $branch $(echo $tags) "
for ref in $(git for-each-ref --format='%(refname)'); do
	case $kept in *" $ref "*) ;; *) printf 'option no-deref\ndelete %s\n' "$ref" ;; esac
done >"$new/doomed"
git update-ref --stdin <"$new/doomed" || fail "deleting refs of $GIT_DIR"
refs=$(($(wc -l <"$new/doomed") / 2))
[ "$(git rev-parse -q --verify HEAD)" = "$head" ] || fail "HEAD of $GIT_DIR moved"
git config --file "$GIT_DIR/config" --name-only --get-regexp '^(remote|branch)\.' | sed 's/\.[^.]*$//' | sort -u >"$new/sections"
while read -r section; do
	git config --file "$GIT_DIR/config" --remove-section "$section" || fail "changing $GIT_DIR/config"
done <"$new/sections"
rm -rf -- "$GIT_DIR/objects" && mkdir -p -- "$GIT_DIR/objects/info" && mv -- "$new/pack" "$GIT_DIR/objects/pack" || fail "removing objects of $GIT_DIR"
[ ! -s "$GIT_DIR/shallow" ] || {
	git cat-file --batch-check='%(objectname)' <"$GIT_DIR/shallow" | grep -v missing >"$new/shallow"
	mv -- "$new/shallow" "$GIT_DIR/shallow" || fail "changing $GIT_DIR/shallow"
}
for name in "$GIT_DIR"/* "$GIT_DIR"/.[!.]* "$GIT_DIR"/refs/* "$GIT_DIR"/refs/.[!.]* "$GIT_DIR"/info/* "$GIT_DIR"/info/.[!.]*; do
	case ${name#"$GIT_DIR/"} in
	HEAD | branches | config | description | hooks | index | info | objects | packed-refs | refs | shallow) ;;
	refs/heads | refs/tags | info/exclude | info/attributes | info/sparse-checkout) ;;
	*) rm -rf -- "$name" || fail "removing $name" ;;
	esac
done
[ "$(count)" -ge 1 ] && git rev-list --objects --indexed-objects "$head" $tags >/dev/null || fail "$GIT_DIR lacks what HEAD needs"
report scrubbed "$refs" "$((total - $(count)))"
