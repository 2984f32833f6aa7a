package boxgit_test

// onlyPacks fails if the store has other files than packs that git uses. Git would not list
// the objects in them.
const onlyPacks = `cd .git/objects; [ -z "$(find . -type f ! -path './pack/pack-*.pack' ! -path './pack/pack-*.idx' ! -path ./info/alternates)" ] &&
	for p in pack/*.pack; do [ ! -e "$p" ] || [ -e "${p%.pack}.idx" ] || exit 1; done`

// cases are repositories that contain commits after HEAD. Each script runs after the
// prelude and leaves "repo", or work, to be scrubbed.
var cases = []struct {
	name, script string
	work         string // directory of the repository; empty: repo
	clean        bool   // there is nothing to scrub
	differs      bool   // the output of git log changes
	incomplete   bool   // objects were missing before, so that git fsck complains
	again        bool   // git does not report whether it stores the empty tree, so each scrub packs once more
	check        string // a further check of the result
}{
	{name: "nothing", script: `begin repo; git repack -qad; rm -rf .git/logs`, clean: true},
	{name: "nothing, with a remote", script: `begin --bare x 2>/dev/null || true; cd "$top"; begin repo; git remote add origin /x; git config branch.main.remote origin; plant none`},
	{name: "a branch", script: `begin repo; ahead`},
	{name: "a branch, HEAD detached", script: `begin repo; ahead; back main~1; future=$(git rev-parse main); plant $future $(git rev-parse $future:dir/two)`},
	{name: "a subfolder as the directory", script: `begin repo; ahead`, work: "repo/dir"},
	{name: "a clone", script: `begin origin; future secret; cd ..; git clone -q origin repo; cd repo; git reset -q --hard HEAD~1; git branch -q --set-upstream-to=origin/main`},
	{name: "packed refs and packs", script: `begin repo; ahead; ahead=$(git rev-parse ahead); git tag -a -m t future ahead; plant $(git rev-parse future); git gc -q; git pack-refs --all`},
	{name: "several packs, one kept, bitmap, commit graph, midx", script: `begin repo; git repack -qad; ahead; git repack -q; touch .git/objects/pack/$(ls .git/objects/pack | grep pack$ | head -1 | sed s/pack$/keep/)
		ahead2() { git checkout -q -b b2 && future secret2 && back; }; ahead2; git repack -qad --write-bitmap-index; git multi-pack-index write; git commit-graph write --reachable`},
	{name: "packs that a repack has left", script: `begin repo; ahead; git repack -qad; cd .git/objects/pack; for f in pack-*.pack pack-*.idx; do mv $f .tmp-1-$f; done; rm -f pack-*`, check: onlyPacks},
	{name: "a pack without an index alone", script: `begin repo; ahead; git repack -qad; cp .git/objects/pack/*.pack ../a; git branch -qD ahead; rm -rf .git/logs; git repack -qad; mv ../a .git/objects/pack/pack-1.pack`, check: onlyPacks},
	{name: "a pack that a fetch has left alone", script: `begin repo; plant none; git repack -qad; mkdir -p .git/objects/tmp_objdir-incoming-x/pack; cp .git/objects/pack/*.pack .git/objects/tmp_objdir-incoming-x/pack`, check: onlyPacks},
	{name: "reflogs", script: `begin repo; future secret; git reset -q --hard HEAD~1`},
	{name: "unreachable objects alone", script: `begin repo; future secret; git reset -q --hard HEAD~1; rm -rf .git/logs .git/ORIG_HEAD`},
	{name: "a blob that nothing names", script: `begin repo; plant $(echo x | git hash-object -w --stdin)`},
	{name: "the empty tree, and a blob that nothing names", script: `begin repo; git commit -q --allow-empty -m e; git rm -rq .; git commit -qm empty; mkdir e; plant $(echo x | git hash-object -w --stdin)`, again: true},
	{name: "a stash", script: `begin repo; echo x > x; echo y >> a; git stash -qu; plant $(git rev-parse stash@{0} stash@{0}:a stash@{0}^3:x); echo z >> a`},
	{name: "notes", script: `begin repo; git notes add -m secret; plant $(git rev-parse refs/notes/commits) $(git notes list HEAD)`},
	{name: "a replaced commit", script: `begin repo; ahead; git replace --graft HEAD ahead; plant $(git rev-parse refs/replace/$(git --no-replace-objects rev-parse HEAD))`, differs: true},
	{
		name: "a replaced file", script: `begin repo; ahead; git replace $(git rev-parse HEAD:a) $(echo other | git hash-object -w --stdin)`,
		check: `[ "$(git cat-file -p HEAD:a)" = other ]`,
	},
	{name: "grafts", script: `begin repo; ahead; echo "$(git rev-parse HEAD) $(git rev-parse ahead)" > .git/info/grafts`, differs: true},
	{
		name: "shallow", script: `begin origin; ahead; for i in 3 4 5; do commit $i; done; cd ..; git clone -q --depth 2 --no-single-branch "file://$top/origin" repo`,
		check: `[ "$(git log --oneline | wc -l)" = 2 ]`,
	},
	{
		name: "a partial clone", script: `begin origin; git config uploadpack.allowFilter true; ahead; cd ..; git clone -q --filter=blob:none "file://$top/origin" repo 2>/dev/null; cd repo; git cat-file -e origin/ahead:dir/secret`, incomplete: true,
		check: `while read -r id; do ! GIT_NO_LAZY_FETCH=1 git -c protocol.allow=never cat-file -e $id 2>/dev/null || exit 1; done < "$SECRETS"`,
	},
	{
		name: "another working tree", script: `begin repo; ahead; git worktree add -q ../other ahead; cd ../other; echo x > staged; git add staged; plant $(git rev-parse :staged)`,
		check: `[ ! -e .git/worktrees/other ]`,
	},
	{name: "in another working tree, the first one ahead", script: `begin first; git worktree add -q ../repo -b here; future secret; git worktree add -q ../third; cd ../repo; echo x >> a; echo y > y; git add y`},
	{name: "in another working tree, the first one detached", script: `begin first; git worktree add -q ../repo -b here; future secret; git checkout -q --detach; git bisect start -q HEAD HEAD~1 2>/dev/null >/dev/null || true`},
	{
		name: "tags of the history stay", script: `begin repo; git tag -a -m t annotated HEAD~1; git tag -a -m t nested annotated 2>/dev/null; ahead; git tag light ahead; git tag -a -m t future ahead; plant $(git rev-parse future)
		git tag blob $(echo b | git hash-object -w --stdin); plant $(git rev-parse blob)`,
		check: `[ "$(git tag | tr '\n' ' ')" = 'annotated nested v1 ' ]`,
	},
	{
		name: "tags of commits", script: `begin repo; git tag light HEAD~1; git tag -a -m t annotated; git tag again annotated^{tag}; ahead; git tag 'light+(x)' ahead; git tag -a -m t future ahead; git tag twice future^{tag}
		plant $(git rev-parse future); signed() { printf 'object %s\ntype commit\ntag s\ntagger a <a@localhost> 1 +0000\n\nt\n-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n' $1 | git mktag; }
		git tag signed $(signed $(git rev-parse HEAD~1)); git tag signed2 $(signed $(git rev-parse ahead)); plant $(git rev-parse signed2); git pack-refs --all`,
		check: `[ "$(git tag | tr '\n' ' ')" = 'again annotated light signed v1 ' ] && [ "$(git rev-parse again)" = "$(git rev-parse annotated)" ] && git cat-file tag signed | grep -q SIGNATURE`,
	},
	{name: "an annotated tag of a tree", script: `begin repo; ahead; git tag -a -m t t HEAD:dir; plant $(git rev-parse t)`, check: `[ "$(git tag)" = v1 ]`},
	{name: "a tag of a tree", script: `begin repo; ahead; git tag t HEAD:dir`, check: `[ "$(git tag)" = v1 ]`},
	{name: "an annotated tag of a blob", script: `begin repo; ahead; git tag -a -m t t HEAD:a; plant $(git rev-parse t)`, check: `[ "$(git tag)" = v1 ]`},
	{name: "a nested tag of a commit beyond HEAD", script: `begin repo; ahead; git tag -a -m t t ahead; git tag -a -m t u t 2>/dev/null; plant $(git rev-parse t u); git tag -d t >/dev/null`, check: `[ "$(git tag)" = v1 ]`},
	{name: "a nested tag alone", script: `begin repo; ahead; git tag -a -m t t; git tag -a -m t u t 2>/dev/null; git tag -d t >/dev/null`, check: `[ "$(git tag | tr '\n' ' ')" = 'u v1 ' ] && git cat-file -e u^{}`},
	{name: "a tag that takes a file for a commit", script: `begin repo; ahead; printf 'object %s\ntype commit\ntag s\ntagger a <a@localhost> 1 +0000\n\nt\n' $(git rev-parse HEAD:a) | git hash-object -t tag -w --stdin --literally > ../t
		git update-ref refs/tags/t $(cat ../t); plant $(cat ../t)`, check: `[ "$(git tag)" = v1 ]`},
	{
		name: "a tag of what another working tree has, and a replaced file", script: `begin repo; ahead; git tag t ahead; git worktree add -q ../other ahead; git replace $(git rev-parse HEAD:a) $(echo other | git hash-object -w --stdin)`,
		check: `[ "$(git tag)" = v1 ]`,
	},
	{name: "a bundle", script: `begin repo; ahead; git bundle create -q .git/all.bundle --all; git branch -qD ahead`, check: `[ ! -e .git/all.bundle ]`},
	{
		name: "submodules", script: `begin sub; git checkout -q -b ahead; future secret; back; begin "$top/sub2"; cd "$top"; begin repo
		git -c protocol.file.allow=always submodule --quiet add "$top/sub" lib/sub; git clone -q "$top/sub" lib/inner; git -C lib/inner checkout -q main; git submodule --quiet add ./lib/inner lib/inner 2>/dev/null; git commit -qm subs
		git -C lib/sub branch keep origin/ahead; echo x >> lib/sub/a`,
		check: `for d in lib/sub lib/inner; do while read -r id; do ! git -C $d cat-file -e $id 2>/dev/null || exit 1; done < "$SECRETS"; [ -z "$(git -C $d branch -r)" ] || exit 1; git -C $d fsck 2>&1 | grep . && exit 1; done; true`,
	},
	{name: "bare", script: `begin first; ahead; cd ..; git clone -q --bare first repo`},
	{name: "a working tree of a bare repository", script: `begin first; ahead; cd ..; git clone -q --bare first bare; cd bare; git worktree add -q ../repo main`},
	{name: "no commit on its branch", script: `begin repo; future secret; git checkout -q --orphan new; : > "$top/secrets"; plant $(git rev-parse main)`},
	{name: "no commit and no index", script: `begin repo; future secret; git checkout -q --orphan new; git rm -rfq --cached .; rm -f .git/index; plant $(git rev-parse main~1)`},
	{name: "an index with changes", script: `begin repo; ahead; echo s >> a; git add a; echo w >> a; echo n > new; git add -N new; git rm -q --cached dir/one; git mv dir/two dir/three; echo i > .gitignore; echo x > i`},
	{
		name: "a merge with conflicts under way", script: `begin repo; ahead; echo mine >> a; git commit -qam mine; git merge ahead >/dev/null || true; : > "$top/secrets"; plant $(git rev-parse ahead)`,
		check: `[ ! -e .git/MERGE_HEAD ] && git ls-files -u | grep -q .`,
	},
	{
		name: "a rebase under way", script: `begin repo; ahead; git format-patch -q -1 -o .. ahead; git am --3way ../0001-* >/dev/null 2>&1 || true; git reset -q --hard HEAD~1; sed -i 's/^+secret/+other/' ../0001-*; echo x > dir/secret; git add .; git commit -qm z; git am ../0001-* >/dev/null 2>&1 || true; rm -f ../0001-*`,
		check: `[ ! -e .git/rebase-apply ]`,
	},
	{name: "borrowed objects", script: `begin origin; ahead; cd ..; git clone -q --shared origin repo`, check: `! grep -s origin .git/objects/info/alternates && mv ../origin ../gone && git fsck`},
	{name: "a folder of its own for git", script: `begin --separate-git-dir "$top/elsewhere" repo; ahead`},
	{name: "git's folder behind a link", script: `begin repo; ahead; mv .git ../dot; ln -s ../dot .git`},
	{name: "a branch that stands for another", script: `begin repo; git branch other; git symbolic-ref refs/heads/alias refs/heads/other; git symbolic-ref HEAD refs/heads/alias; git checkout -q -b ahead; future secret; git checkout -q other; git symbolic-ref HEAD refs/heads/alias`},
	{name: "refs that are broken", script: `begin repo; ahead; mkdir -p .git/refs/remotes/o; echo ref: refs/remotes/o/none > .git/refs/remotes/o/HEAD; git update-ref refs/odd/one ahead; git update-ref refs/top ahead`},
	{name: "SHA-256", script: `begin --object-format=sha256 repo; ahead`},
	{name: "a split index, sparse checkout", script: `begin repo; ahead; git sparse-checkout set --no-cone a; git update-index --split-index; echo x >> a`},
	{name: "settings that run programs", script: `begin repo; ahead; mkdir -p ../h; printf '#!/bin/sh\ntouch "%s/ran"\nexit 0\n' "$top" > ../run; chmod +x ../run
		for h in reference-transaction post-checkout pre-auto-gc post-rewrite post-index-change fsmonitor-watchman; do cp ../run ../h/$h; cp ../run .git/hooks/$h; done
		git config core.fsmonitor "$top/run"; git config core.hooksPath "$top/h"; git config gc.recentObjectsHook "$top/run"; git config core.pager "$top/run"; git config core.sshCommand "$top/run"
		git config alias.rev-list "!$top/run"; git config core.alternateRefsCommand "$top/run"; git config diff.external "$top/run"; git config uploadpack.packObjectsHook "$top/run"; git config core.askPass "$top/run"; git config core.editor "$top/run"`},
	{
		name: "refs whose names need care", script: `begin repo; ahead; for n in 'a;b' "a'b" 'a"b' 'a$(x)b' 'é' '-a' "a&b"; do git update-ref "refs/heads/$n" ahead; git update-ref "refs/tags/$n" main; done; git config "remote.we ird;\$x.url" /x`,
		check: `[ "$(git tag | wc -l)" = 8 ] && [ -z "$(git config --get-regexp '^remote')" ]`,
	},
	{name: "folders whose names need care", script: `mkdir -- "-a b'\$c"; cd -- "-a b'\$c"; top=$PWD/..; begin repo; ahead`, work: "-a b'$c/repo"},
}
