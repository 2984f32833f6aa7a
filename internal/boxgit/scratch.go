package boxgit

// scratchRepo makes a separate repository in $t that borrows the objects and refs of the
// one around the working directory, and makes git use it with the same working tree
// ($top) and a new index. Whatever an agent did to the original's configuration, index,
// hooks or locks has no effect there, and neither do the settings of the user and the
// environment; only its info/exclude still applies, and what says how line ends are
// converted ($ends). If the environment names a repository that git accepts, that is the
// original. Otherwise the script finds it itself, because git refuses a broken repository.
const scratchRepo = `exec 2> /dev/null
named= index=$GIT_INDEX_FILE ends=()
if [ "$GIT_DIR$GIT_WORK_TREE" ]; then { read -r own && read -r top && named=yes; } < <(git rev-parse --absolute-git-dir --show-toplevel); fi
if [ ! "$named" ]; then
	index= top=$(pwd -P)
	until [ -e "$top/.git" ]; do [ -n "$top" ] || exit 5; top=${top%/*}; done
	own=$top/.git
fi
if [ -f "$own" ]; then
	IFS= read -r own < "$own"; own=${own#gitdir: }
	case $own in /*) ;; *) own=$top/$own ;; esac
fi
for v in core.autocrlf core.eol; do said=$(GIT_DIR=$own git config --get "$v") && ends+=(-c "$v=$said"); done
for v in ${!GIT_*}; do unset "$v"; done
common=$own
if [ -f "$own/commondir" ]; then
	IFS= read -r common < "$own/commondir"
	case $common in /*) ;; *) common=$own/$common ;; esac
fi
mkdir -p "$t/git/objects/info" "$t/git/info" || exit 3
printf '%s\n' "$common/objects" > "$t/git/objects/info/alternates"
if [ -d "$common/refs" ]; then ln -s "$common/refs" "$t/git/refs"; else mkdir "$t/git/refs"; fi
if [ -f "$common/packed-refs" ]; then ln -s "$common/packed-refs" "$t/git/packed-refs"; fi
cp "$own/HEAD" "$t/git/HEAD" || printf 'ref: refs/heads/none\n' > "$t/git/HEAD"
for f in "$own"/sharedindex.*; do [ ! -f "$f" ] || ln -s "$f" "$t/git/"; done
cp "$common/info/exclude" "$t/git/info/exclude"
case $t/ in "${top%/}"/*) t_in_top=${t#"$top"}; printf '%s/\n' "$t_in_top" >> "$t/git/info/exclude" ;; esac
printf '[core]\nrepositoryformatversion = 0\nfilemode = true\nsymlinks = true\nignorecase = false\nfsync = none\n' > "$t/git/config"
export HOME="$t" XDG_CONFIG_HOME="$t" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_SYSTEM=/dev/null GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 LC_ALL=C
export GIT_DIR="$t/git" GIT_WORK_TREE="${top:-/}" GIT_INDEX_FILE="$t/index"
`

// firstCommit sets $commit to the first word of $commits that names a commit.
const firstCommit = `for c in $commits; do commit=$(git rev-parse --verify --quiet "$c^{commit}") && break; done
[ -n "$commit" ] || exit 4
`
