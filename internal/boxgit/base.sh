# Prints how the repository around the current directory stands to a commit, one
# fact a line, for ReadBase in base.go. It changes nothing.
apart= # the commit's id, where the repository has it outside of HEAD's history
most=100 # files that are named

fact() { # name, value
	printf 'base: %s %s\n' "$1" "$2"
}

files() { # changed or unsaved, the files as git quotes them
	local name=$1
	shift
	fact "$name" $#
	(($# == 0)) || printf "base: $name-file %s\n" "${@:1:most}"
}

compare() { # id of a commit, perhaps abbreviated; empty: only say where HEAD is. What else is to be done
	local -x GIT_DIR=$dir
	local head commit ahead behind lines changed=()
	if ! head=$(git rev-parse -q --verify 'HEAD^{commit}' 2>/dev/null); then
		fact none commit
		commit=$1
		[[ $commit ]] && known && apart=$commit
		return 0
	fi
	fact head "$head"
	[[ $2 == @(scrub|share) ]] || unsaved
	[[ $1 && $head != "$1"* ]] || return 0
	commit=$1
	[[ ${#commit} == "${#head}" ]] || known || return 0
	read -r behind ahead < <(git rev-list --left-right --count "$commit...$head" 2>/dev/null)
	[[ $ahead ]] && lines=$(git -c core.quotePath=true diff-tree -r --name-only --ignore-submodules=none "$commit" "$head" 2>/dev/null) || return 0
	((behind)) && apart=$commit
	fact ahead "$ahead"
	fact behind "$behind"
	[[ -z $lines ]] || mapfile -t changed < <(printf '%s\n' "$lines")
	files changed "${changed[@]}"
	fact commit "$commit" # last: without it, nothing is known
}

# known sets commit to the one commit whose id begins as it does.
known() {
	local id all=()
	while read -r id; do
		[[ $(git cat-file -t "$id" 2>/dev/null) == commit ]] && all+=("$id")
	done < <(git rev-parse --disambiguate="$commit" 2>/dev/null)
	((${#all[@]} < 2)) || fact several ${#all[@]}
	((${#all[@]} == 1)) && commit=${all[0]}
}

# unsaved names the files of the working tree that are not as HEAD has them. Only those
# are read whose size or time of change, to the second, is not the index's: a
# container's layers keep no more of it. A file's filter would be a program of the
# image's; where there is one, nothing is looked at.
unsaved() {
	local lines=()
	[[ $top -ef $dir ]] || git config --get-regexp '^filter\.' >/dev/null 2>&1 || {
		mapfile -t lines < <(GIT_WORK_TREE=$top git -c core.checkStat=minimal -c core.trustctime=false -c core.quotePath=true \
			-c status.renames=false -c diff.renames=false status --porcelain --untracked-files=no --ignore-submodules=all 2>/dev/null)
		files unsaved "${lines[@]#???}"
	}
}

