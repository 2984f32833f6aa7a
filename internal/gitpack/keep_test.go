package gitpack_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/internal/gitpack"
)

// sh runs a script in dir and returns its output.
func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
}

// past makes a repository of 40 commits to a few files of some length, the last 20 of them
// after the commit that is to be the last one.
const past = `git init -q -b main
for i in $(seq 40); do
	for f in a b c; do { seq $((i * 7)) $((i * 7 + 2000)); echo "$f $i"; } > $f; done
	mkdir -p "d$((i % 3))"; echo "$i" > "d$((i % 3))/x"; printf 'x%.0s' $(seq $((i * 3))) > short
	git add . && git commit -qm "commit $i"
	[ $i != 20 ] || git tag end
done
`

// repository returns a copy of the one that past makes, after the script.
func repository(t *testing.T, script string) string {
	t.Helper()
	needGit(t)
	dir := t.TempDir()
	sh(t, dir, "cp -R "+template(t)+"/. .; "+script+"\nchmod -R u+w .git")
	return dir
}

var once struct {
	sync.Once
	dir string
}

func template(t *testing.T) string {
	t.Helper()
	once.Do(func() {
		dir, err := os.MkdirTemp("", "gitpack-")
		if err != nil {
			t.Fatal(err)
		}
		once.dir = dir
		sh(t, dir, past)
	})
	return once.dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(once.dir)
	os.Exit(code)
}

// cutting keeps the history of end in a copy of the store's packs, and checks what is left.
func cutting(t *testing.T, dir string) (rest string) {
	t.Helper()
	list := sh(t, dir, "git rev-list --objects end | cut -d' ' -f1")
	packs := filepath.Join(dir, ".git/objects/pack")
	var out, choice, again bytes.Buffer
	if err := gitpack.Keep(packs, t.TempDir(), strings.NewReader(list), &bytes.Buffer{}, &choice); err != nil {
		t.Fatal(err)
	}
	chosen := t.TempDir()
	if err := gitpack.KeepChosen(packs, chosen, &choice, &again); err != nil {
		t.Fatal(err)
	}
	if err := gitpack.Keep(packs, packs, strings.NewReader(list), &out, nil); err != nil {
		t.Fatal(err)
	}
	if elsewhere, err := os.ReadDir(chosen); err != nil || len(elsewhere) != 2*strings.Count(again.String(), "pack ") {
		t.Errorf("by the choice: files %v, %v; said:\n%s", elsewhere, err, &again)
	}
	if again.String() != out.String() {
		t.Errorf("by the choice:\n%swant as by the list:\n%s", &again, &out)
	}
	names := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "pack "); ok {
			names[name] = true
		} else if id, ok := strings.CutPrefix(line, "rest "); ok {
			rest += id + "\n"
		}
	}
	files, err := os.ReadDir(packs)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !names[strings.TrimSuffix(f.Name(), filepath.Ext(f.Name()))] {
			if err := os.Remove(filepath.Join(packs, f.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[string]bool{}
	for id := range strings.Lines(list) {
		want[strings.TrimSpace(id)] = true
	}
	for name := range names {
		out := sh(t, dir, "git verify-pack .git/objects/pack/"+name+".idx && git show-index < .git/objects/pack/"+name+".idx | cut -d' ' -f2")
		for id := range strings.Lines(out) {
			if id = strings.TrimSpace(id); !want[id] {
				t.Errorf("%s has object %s, which is not on the list or in another pack too", name, id)
			}
			delete(want, id)
		}
	}
	for id := range strings.Lines(rest) {
		delete(want, strings.TrimSpace(id))
	}
	if len(want) > 0 {
		t.Errorf("%d objects are missing", len(want))
	}
	return rest
}

func TestAPackKeepsWhatIsOnTheList(t *testing.T) {
	t.Parallel()
	for name, pack := range map[string]string{
		"deltas to what goes":             "git repack -qadf --depth=50 --window=50",
		"deltas by id":                    "git -c repack.useDeltaBaseOffset=false repack -qadf --depth=50 --window=50",
		"no deltas":                       "git repack -qadf --depth=0",
		"long chains":                     "git repack -qadf --depth=4000 --window=10",
		"several packs":                   "git rev-list --objects main~25 | git pack-objects -q .git/objects/pack/pack; git rev-list --objects main~10 | git pack-objects -q .git/objects/pack/pack; git repack -qd",
		"a pack that only has what stays": "git rev-list --objects end | git pack-objects -q .git/objects/pack/pack; git repack -qd",
		"nothing but other objects":       "git rev-list --objects main ^end~3 | git pack-objects -q .git/objects/pack/pack; git prune-packed",
		"an index with far offsets":       "git -c pack.indexVersion=2 repack -qad; for p in .git/objects/pack/*.pack; do git index-pack --index-version=2,0x40 \"$p\" >/dev/null; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, pack)
			rest := cutting(t, dir)
			if loose := sh(t, dir, "find .git/objects -type f -path '*/??/*' | wc -l"); strings.TrimSpace(loose) == "0" && rest != "" {
				t.Errorf("no object is outside of the packs, but the rest is %q", rest)
			}
			sh(t, dir, `git update-ref refs/heads/main end; git read-tree end; rm -rf .git/logs; git fsck --full --strict 2>&1`)
		})
	}
}

func TestAWholePackStays(t *testing.T) {
	t.Parallel()
	dir := repository(t, "git reset -q --hard end; rm -rf .git/logs; git update-ref -d ORIG_HEAD; git repack -qad; git prune")
	before := sh(t, dir, "ls .git/objects/pack/*.pack")
	if rest := cutting(t, dir); rest != "" {
		t.Errorf("rest %q, want none", rest)
	}
	if after := sh(t, dir, "ls .git/objects/pack/*.pack"); after != before {
		t.Errorf("packs are %s, want %s", after, before)
	}
}

func TestAWholePackIsWrittenElsewhere(t *testing.T) {
	t.Parallel()
	dir, to := repository(t, "git repack -qad"), t.TempDir()
	list := sh(t, dir, "git rev-list --objects main | cut -d' ' -f1")
	var out bytes.Buffer
	if err := gitpack.Keep(filepath.Join(dir, ".git/objects/pack"), to, strings.NewReader(list), &out, nil); err != nil {
		t.Fatal(err)
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(out.String()), "pack ")
	if got := strings.Count(sh(t, to, "git show-index < "+name+".idx"), "\n"); !ok || got != strings.Count(list, "\n") {
		t.Errorf("output %q, %d objects; want one pack, %d objects", out.String(), got, strings.Count(list, "\n"))
	}
}

// Each kind of damage is an error, and no pack with it is written.
func TestADamagedPackIsAnError(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"a pack is short":       "truncate -s -100 *.pack",
		"an entry":              "printf XXXXXXXX | dd of=$(ls *.pack) bs=1 seek=$(git verify-pack -v *.idx | grep ^$(git rev-parse end:a) | awk '{print $5 + 10}') conv=notrunc status=none",
		"no pack":               "rm -f *.pack",
		"an index is empty":     "for f in *.idx; do : > $f; done",
		"another pack's index":  "printf X | dd of=$(ls *.idx) bs=1 seek=$(($(stat -c %s *.idx) - 40)) conv=notrunc status=none",
		"an index of version 1": "rm -f *.idx; git index-pack --index-version=1 *.pack",
		"an index that is cut":  "truncate -s -8 *.idx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, "git repack -qad")
			list := sh(t, dir, "git rev-list --objects end | cut -d' ' -f1")
			sh(t, dir, "cd .git/objects/pack; rm -f *.rev; "+damage)
			var out bytes.Buffer
			packs := filepath.Join(dir, ".git/objects/pack")
			if err := gitpack.Keep(packs, packs, strings.NewReader(list), &out, nil); err == nil {
				t.Errorf("no error, and output %q", out.String())
			}
			if left := sh(t, dir, "ls .git/objects/pack | grep tmp || true"); left != "" {
				t.Errorf("files are left: %s", left)
			}
		})
	}
}

func TestWhatIsNoIDIsAnError(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"x\n", strings.Repeat("g", 40) + "\n", strings.Repeat("a", 64) + "\n"} {
		if err := gitpack.Keep(t.TempDir(), t.TempDir(), strings.NewReader(list), &bytes.Buffer{}, nil); err == nil {
			t.Errorf("list %q: no error", list)
		}
	}
}

func TestAChoiceOfOtherPacksIsAnError(t *testing.T) {
	t.Parallel()
	dir := repository(t, "git repack -qad")
	packs := filepath.Join(dir, ".git/objects/pack")
	choose := func(dir, of string) []byte {
		var choice bytes.Buffer
		list := sh(t, dir, "git rev-list --objects "+of+" | cut -d' ' -f1")
		if err := gitpack.Keep(filepath.Join(dir, ".git/objects/pack"), t.TempDir(), strings.NewReader(list), &bytes.Buffer{}, &choice); err != nil {
			t.Fatal(err)
		}
		return choice.Bytes()
	}
	good := choose(dir, "end")
	loose := repository(t, "git repack -qad; git commit -q --allow-empty -m loose")
	missing := choose(loose, "main")
	sh(t, loose, "rm -rf .git/objects/??")
	for name, c := range map[string]struct {
		packs  string
		choice []byte
	}{
		"cut":                     {packs, good[:len(good)-1]},
		"nothing":                 {packs, nil},
		"longer":                  {packs, append(bytes.Clone(good), 0)},
		"other packs":             {packs, choose(repository(t, "git repack -qadf --depth=0 --window=0; git rev-list --objects end | git pack-objects -q .git/objects/pack/pack"), "end")},
		"an object is not there":  {filepath.Join(loose, ".git/objects/pack"), missing},
		"no packs, but of a pack": {t.TempDir(), good},
	} {
		to, out := t.TempDir(), &bytes.Buffer{}
		if err := gitpack.KeepChosen(c.packs, to, bytes.NewReader(c.choice), out); err == nil {
			t.Errorf("%s: no error, and output %q", name, out)
		}
		if files, err := os.ReadDir(to); err != nil || len(files) > 0 {
			t.Errorf("%s: files %v, %v; want none", name, files, err)
		}
	}
}

// Whatever a pack and its index contain, nothing panics.
func FuzzKeep(f *testing.F) {
	needGit(f)
	dir := f.TempDir()
	sh(f, dir, `git init -q; for i in 1 2 3; do seq $((i * 100)) $((i * 100 + 300)) > a; git add a; git commit -qm $i; done; git repack -qadf`)
	names, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	if err != nil || len(names) != 1 {
		f.Fatalf("packs %q, %v; want one", names, err)
	}
	pack, err := os.ReadFile(names[0])
	if err != nil {
		f.Fatal(err)
	}
	index, err := os.ReadFile(strings.TrimSuffix(names[0], "pack") + "idx")
	if err != nil {
		f.Fatal(err)
	}
	list := sh(f, dir, "git rev-list --objects HEAD~1 | cut -d' ' -f1")
	f.Add(pack, index)
	f.Fuzz(func(t *testing.T, pack, index []byte) {
		dir := t.TempDir()
		for ending, data := range map[string][]byte{"pack": pack, "idx": index} {
			if err := os.WriteFile(filepath.Join(dir, "pack-1."+ending), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_ = gitpack.Keep(dir, dir, strings.NewReader(list), &bytes.Buffer{}, nil)
		_ = gitpack.KeepChosen(dir, t.TempDir(), bytes.NewReader(index), &bytes.Buffer{})
	})
}
