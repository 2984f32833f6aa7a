# Takes from the repository around the current directory, or the one that GIT_DIR
# names, all history beyond its HEAD. The last line of output is the report; it exits
# with 1 when something may be left. doc.go says the rest.
refs=0 objects=0 # removed, in all

report() { # verdict
	printf '\ngitscrub: %s, %d refs, %d objects\n' "$1" "$refs" "$objects"
	exit 0
}

fail() {
	printf '%s\n' "$*" "${complaint:-}"
	exit 1
}

# look sets what is known of the repository in GIT_DIR: common, the directory that
# its working trees share; store, of its objects; head, the commit, empty when there is
# none; branch, empty when HEAD is detached.
look() {
	local facts
	mapfile -t facts < <(git rev-parse --git-common-dir --git-path objects --verify -q HEAD 2>/dev/null)
	[[ ${facts[0]:-} && ${facts[1]:-} ]] || fail "git finds no repository in $GIT_DIR"
	common=$(cd -- "${facts[0]}" && pwd -P) && store=$(cd -- "${facts[1]}" && pwd -P) || fail "no objects in $GIT_DIR"
	head=${facts[2]:-}
	branch=$(git symbolic-ref -q HEAD)
	[[ -d $common/reftable ]] && fail "$common keeps its refs as reftable, which is not known here"
	return 0
}

# sort_refs sets doomed, the refs to delete, and roots, those to keep: HEAD's
# branch, the tags of its history, what stands in for a file or a folder, and of the
# commit to keep.
sort_refs() {
	local -A keep=(["$branch "]=1) # never an empty key
	local all tags=() ref line
	doomed=() roots=()
	[[ -f $GIT_DIR/HEAD ]] && read -r line <"$GIT_DIR/HEAD" && keep["${line#ref: } "]=1 # a branch may stand for another
	[[ $also && $(git rev-parse -q --verify "$own_ref" 2>/dev/null) == "$also" ]] && keep["$own_ref "]=1
	mapfile -t all < <(git for-each-ref --format='%(refname)' 2>/dev/null)
	if [[ ! $share && -f $shared$GIT_DIR/keep ]]; then # another container of the image has asked git
		mapfile -t tags <"$shared$GIT_DIR/keep"
	elif [[ $chosen ]]; then
		mapfile -t tags < <(sed '1d;/^$/,$d' "$outcome")
	elif [[ $head && " ${all[*]}" == *' refs/tags/'* ]]; then
		tags_of_list || mapfile -t tags < <(git for-each-ref --merged "$head" --format='%(refname)' refs/tags 2>/dev/null)
	fi
	for ref in "${tags[@]}"; do keep["$ref "]=1; done
	for ref in "${all[@]}"; do
		if [[ $ref == refs/replace/* && $(git cat-file -t "${ref##*/}" 2>/dev/null) == @(blob|tree) ]]; then
			keep["$ref "]=1
		fi
		if [[ ${keep["$ref "]:-} ]]; then roots+=("$ref"); else doomed+=("$ref"); fi
	done
	[[ $share ]] || return 0
	mkdir -p -- "$shared$GIT_DIR" && printf '%s\n' "${roots[@]}" >"$shared$GIT_DIR/refs" && mv -- "$shared$GIT_DIR/refs" "$shared$GIT_DIR/keep" || fail "writing into $shared"
}

# tags_of_list sets tags as git for-each-ref --merged does, but from the list that repack
# needs, so that git reads the history once. It fails if more than HEAD and the index would be
# on the list, or if a tag is neither a commit's nor that of a tag object for a commit.
tags_of_list() {
	local others=("$common"/worktrees/*) i lines ref id kind named really commit found refs=() commits=() ids=()
	local -A listed=() new=()
	[[ ! $also && $GIT_DIR == "$common" && ${#others[@]} == 0 && " ${all[*]}" != *' refs/replace/'* ]] || return
	# Versions of git differ in what %(*objectname) is for a tag of a tag.
	lines=$(git for-each-ref --format='%(refname) %(objectname) %(objecttype) %(type) %(*objecttype) %(object)' refs/tags 2>/dev/null) || return
	while read -r ref id kind named really commit; do
		case "$kind $named $really" in
		'commit  ') commit=$id ;;
		'tag commit commit') ;;
		*) return 1 ;;
		esac
		refs+=("$ref") ids+=("$id") commits+=("$commit")
	done <<<"$lines"
	write_list "$head" || return
	found=$(printf '%s\n' "${commits[@]}" "${ids[@]}" | grep -xFf - -- "$list")
	(($? < 2)) || return
	for id in $found; do listed[$id]=1; done
	for i in "${!refs[@]}"; do
		[[ ${listed[${commits[i]}]:-} ]] || continue
		tags+=("${refs[i]}") id=${ids[i]}
		[[ ${listed[$id]:-} ]] || new[$id]=1
	done
	((${#new[@]} == 0)) || printf '%s\n' "${!new[@]}" >>"$list" || return
	complete=1
}

# write_list writes the ids of the objects that the index, some commits and some refs need.
write_list() { # commits and refs
	local want=("$@")
	walk() { printf '%s\n' "${want[@]}" | git rev-list --objects --indexed-objects "$@" --stdin; }
	ids() { walk "$@" | cut -d' ' -f1; }
	# The options are of git 2.16 and 2.22.
	complaint=$({ set -o pipefail; walk --missing=allow-any --no-object-names >"$list" || ids --missing=allow-any >"$list" || ids >"$list"; } 2>&1)
}

# count prints how often objects are stored. Each file that git does not read, such as a
# pack without an index, counts as one: an interrupted command may have left objects in it.
count() {
	local key value total=0
	local strays=("$store"/!(pack|info|[0-9a-f][0-9a-f]) "$store"/.[!.]*) packs=("$store"/pack/{,.[!.]}*.pack)
	while read -r key value; do
		[[ $key == @(count|in-pack|garbage): ]] && total=$((total + value))
		[[ $key == packs: ]] && total=$((total + ${#packs[@]} - value))
	done < <(git count-objects -v 2>/dev/null)
	echo $((total + ${#strays[@]}))
}

# copy_packed takes from the packs what the list has, or what an earlier scrub has chosen, with
# batch's helper where there is one. If it cannot, git packs all of the list.
copy_packed() { # folder of new packs
	[[ -x $helper ]] && mkdir -p -- "$1" || return
	if [[ $chosen ]]; then
		"$helper" keep-chosen "$store/pack" "$1" <"$outcome"
	else
		"$helper" keep-objects "$store/pack" "$1" "$list.choice" <"$list"
	fi >"$list.packs" 2>/dev/null
}

# pack writes what stays as packs into a folder that may have others, and removes them.
pack() { # folder, whether the helper has copied
	local f word name packs partial= rest=$list
	local -A keep=() # names of packs
	mkdir -p -- "$1"
	if [[ $2 ]]; then
		rest=$list.rest
		while read -r word name; do
			if [[ $word == pack ]]; then keep["$name"]=1; else printf '%s\n' "$name"; fi
		done <"$list.packs" >"$rest" || { [[ ! $chosen ]] || fail "writing $rest"; keep=() rest=$list; }
	fi
	if [[ -s $rest ]]; then
		mkdir -p -- "$store/pack" # git writes only there
		packs=$(git pack-objects -q --delta-base-offset --window=0 "$store/pack/pack" <"$rest") &&
			{ [[ $1 -ef $store/pack ]] || cp -- "$store/pack/pack-$packs".@(pack|idx) "$1"; } || fail "writing a pack into $1"
		keep["pack-$packs"]=1
	fi
	for f in "$store"/pack/*.promisor; do partial=1; done
	for f in "$1"/{,.[!.]}*; do
		name=${f##*/}
		[[ ${keep[${name%.*}]:-} && $name == *.@(pack|idx) ]] || rm -rf -- "$f" || fail "removing $f"
	done
	for name in ${partial:+"${!keep[@]}"}; do : >"$1/$name.promisor"; done
}

# recall copies what an earlier scrub of the same image and commit has chosen, and sets chosen to
# the number of these objects.
recall() {
	[[ $GIT_DIR == "$dir" && -s $outcome && ($share || ! -s $shared$store/count) ]] || return
	total=$(count)
	read -r chosen <"$outcome" && [[ $chosen == +([0-9]) ]] && copy_packed "$to/pack" || chosen=
}

# repack leaves in the store what HEAD, the index and the refs to keep need, and
# nothing else. What is borrowed from another repository becomes this one's own.
repack() {
	local n=$chosen left copied=$chosen want=(${head:+"$head"} ${also:+"$also"} "${roots[@]}")
	if [[ ! $chosen ]]; then
		[[ $complete ]] || write_list "${want[@]}" || [[ -z ${want[*]} && ! -e $GIT_DIR/index ]] || fail "listing what HEAD needs in $GIT_DIR"
		# git knows the empty tree without having it.
		n=$(grep -vcE '^(4b825dc642cb6eb9a060e54bf8d69288fbee4904|6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321)' "$list")
	fi
	[[ ! $head ]] || git cat-file -e "$head" 2>/dev/null || fail "HEAD's commit is missing in $GIT_DIR" # git 2.45 does not complain
	[[ $chosen ]] || total=$(count)
	((n != total)) || [[ -e $store/info/alternates ]] || return 0
	changed=1 objects=$((objects + total - n))
	[[ $copied ]] || ! copy_packed "$to/pack" || copied=1
	pack "$to/pack" "$copied"
	if [[ $share ]]; then
		left=$(GIT_OBJECT_DIRECTORY=$to store=$to count)
	else
		remove_others
		left=$(count)
	fi
	((left >= n)) || fail "$to lacks what HEAD needs"
	((!chosen || left == n)) || fail "$to has more than HEAD needs"
	if [[ $share ]]; then
		[[ ! $digits || $(GIT_OBJECT_DIRECTORY=$to shortest) != "$digits" ]] || digits=
		printf '%s\n' "$n $total $digits" >"$to/count" || fail "writing into $shared"
		digits=
	else
		trim_shallow
	fi
	[[ ! $copied || $chosen || $GIT_DIR != "$dir" ]] || remember "$left"
}

# remember prints what a later scrub of the same image and commit need not find out again.
remember() { # number of objects
	local text
	text=$({ printf '%s\n' "$1" "${roots[@]}" "" && cat -- "$list.choice"; } | base64 -w0)
	((${#text} > most_text)) || printf 'outcome: %s\n' "$text"
}

# borrow does what repack does, with the packs that a repack in another container of the
# image has written, if there are any. It asks git little: many containers may start at once.
borrow() {
	local n total line='' left=("$store"/!(info|pack) "$store"/.[!.]* "$store"/pack/{,.[!.]}*)
	[[ ! $share && $store != *$'\n'* && -s $shared$store/count ]] && read -r n total digits <"$shared$store/count" || return 1
	[[ ! $head ]] || GIT_OBJECT_DIRECTORY=$shared$store git cat-file -e "$head^{tree}" 2>/dev/null || return 1
	[[ ! $digits ]] || abbreviates || digits=
	[[ ! -f $store/info/alternates ]] || read -r line <"$store/info/alternates"
	((${#left[@]} > 0)) || [[ $line != "$shared$store" ]] || return 0
	changed=1 objects=$((objects + total - n))
	left+=("$store"/info/{,.[!.]}*)
	((${#left[@]} == 0)) || rm -rf -- "${left[@]}" || fail "removing objects of $store"
	[[ -d $store/info ]] || mkdir -p -- "$store/info"
	printf '%s\n' "$shared$store" >"$store/info/alternates" || fail "changing $store/info/alternates"
	trim_shallow
}

# remove_others removes all files of the store but its packs.
remove_others() {
	rm -rf -- "$store"/!(pack|info) "$store"/.[!.]* "$store"/info/{,.[!.]}* || fail "removing objects of $store"
}

# trim_shallow takes from the ends of a shallow history those that are not there any more.
trim_shallow() {
	[[ -s $common/shallow ]] || return 0
	git cat-file --batch-check='%(objectname)' <"$common/shallow" | grep -v missing >"$list"
	(($? < 2)) && mv -- "$list" "$common/shallow" || fail "changing $common/shallow"
}

# forget removes the refs, and the other files that name commits.
forget() {
	local f own=$GIT_DIR
	if ((${#doomed[@]})); then
		complaint=$(printf 'option no-deref\ndelete %s\n' "${doomed[@]}" | git update-ref --stdin 2>&1) || fail "deleting refs of $common"
		changed=1 refs=$((refs + ${#doomed[@]}))
	fi
	local junk=("$common"/refs/!(heads|tags|replace) "$common"/info/@(grafts|refs))
	junk+=({"$own","$common"}/@(logs|rebase-merge|rebase-apply|sequencer|rr-cache|lost-found|*.bundle))
	junk+=({"$own","$common"}/@(*_HEAD|AUTO_MERGE|MERGE_*|SQUASH_MSG|COMMIT_EDITMSG|TAG_EDITMSG|NOTES_*|BISECT_*))
	for f in "$common"/worktrees/*; do [[ $f -ef $own ]] || junk+=("$f"); done
	if [[ $own != "$common" ]]; then # a working tree beside the repository's first one
		junk+=("$own"/refs/* "$common"/inde[x])
		[[ $(<"$common/HEAD") == 'ref: '* ]] || printf '%s\n' "${head:-ref: refs/heads/none}" >"$common/HEAD"
	fi
	((${#junk[@]} == 0)) || rm -rf -- "${junk[@]}" || fail "removing files of $common"
	[[ -z $also ]] || git -c core.logAllRefUpdates=false update-ref "$own_ref" "$also" || fail "keeping $also"
}

# cut_off removes the remotes and what branches follow.
cut_off() {
	local lines key section
	mapfile -t lines <"$common/config"
	[[ "${lines[*],,}" == *@('[remote'|'[branch'|'include')* ]] || return 0
	local -A sections=()
	while IFS= read -r -d '' key; do
		section=${key%.*}
		[[ $section == *.* ]] && sections[$section]=1
	done < <(git config --file "$common/config" --name-only -z --get-regexp '^(remote|branch)\.')
	for section in "${!sections[@]}"; do
		complaint=$(git config --file "$common/config" --remove-section "$section" 2>&1) || fail "changing $common/config"
		changed=1
	done
}

# abbreviates reports whether git chooses how long it makes an abbreviated id: by
# the number of objects, of which fewer are left.
abbreviates() { [[ $head && ! $abbrev ]] && ! git config --get core.abbrev >/dev/null 2>&1; }

# shortest prints that length. Of several ids not all begin like another object's.
shortest() {
	local digit id least=${#head}
	for digit in 0 6 c; do
		id=$(git rev-parse --short "${head//?/$digit}" 2>/dev/null)
		[[ $id ]] && ((${#id} < least)) && least=${#id}
	done
	echo "$least"
}

scrub() { # git directory, commit to keep beside HEAD or nothing
	local -x GIT_DIR=$1
	local also=$2 common store head branch doomed=() roots=() complaint= digits=
	local list=$1/gitscrub.$$ complete= # of the objects that stay
	local chosen= total                 # how many objects an earlier scrub has left, and there are
	look
	local to=$store # where the objects that stay are written
	[[ $also ]] && also=$(git rev-parse -q --verify "$also^{commit}" 2>/dev/null)
	[[ ! $share ]] || to=$shared$store
	[[ $known ]] || { recall; sort_refs; }
	forget
	cut_off
	if [[ ! $known ]]; then
		if ! borrow; then
			abbreviates && digits=$(shortest)
			repack
			rm -f -- "$list" "$list".*
			[[ ! $digits || $(shortest) != "$digits" ]] || digits=
		fi
		[[ ! $digits ]] || git config --file "$common/config" core.abbrev "$digits" || fail "changing $common/config"
	fi
	[[ $(git rev-parse -q --verify HEAD 2>/dev/null) == "$head" && $(git symbolic-ref -q HEAD) == "$branch" ]] || fail "HEAD of $GIT_DIR moved"
	modules "$common/modules"
	[[ $1 == "$common" ]] || modules "$1/modules"
}

modules() { # directory of submodules' git directories
	local d
	for d in "$1"/*/; do
		if [[ -f $d/HEAD ]]; then scrub "${d%/}" ""; else modules "${d%/}"; fi
	done
}

# nested scrubs the submodules that have their git directory within.
nested() {
	local path
	[[ -f $top/.gitmodules ]] || return 0
	while IFS= read -r -d '' path; do
		path=$top/${path#*$'\n'}
		[[ -d $path/.git ]] && scrub "$(cd -- "$path/.git" && pwd -P)" ""
	done < <(git config -f "$top/.gitmodules" -z --get-regexp '^submodule\..*\.path$')
}

helper=/dev/batch/init     # boxinit.Path
shared=/dev/batch-history  # Shared
outcome=/dev/batch-outcome # OutcomeFile
share=                     # whether to write into it
most_text=4194304          # the middle of a long output is left out
own_ref=refs/batch/base-commit
changed=
[[ $(type -P git) ]] || { fact none git && report "no git"; }
if locate ""; then compare "${1:-}" "${2:-}"; else fact none repository; fi
[[ ${2:-} == keep ]] && report kept
locate "$given" || report "no repository"
known=
[[ ${2:-} == known ]] && known=1
[[ ${2:-} == share ]] && share=1 && umask 022
scrub "$dir" "$apart"
nested
if [[ $known && $changed ]]; then # it was not
	known= abbrev=unknown
	scrub "$dir" "$apart"
	nested
fi
[[ ! -e $outcome ]] || rm -f -- "$outcome"
[[ $changed ]] && report scrubbed
report clean
