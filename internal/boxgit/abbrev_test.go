package boxgit_test

import (
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/internal/boxgit"
	"batch.example/batch/internal/tier"
)

// makeMany makes a packed repository in which most objects belong to another branch: git
// abbreviates ids to 8 digits in it, and to 7 with only the objects that HEAD needs.
const makeMany = `begin many; { echo 'commit refs/heads/ahead'; printf 'committer a <a@localhost> 1 +0000\ndata 1\nx\n'
for ((i = 0; i < 16500; i++)); do printf 'M 100644 inline f%d\ndata %d\n%d\n' $i ${#i} $i; done; } | git fast-import --quiet
git repack -qad --window=0; git checkout -q main; echo x >> a
`

const shown = `git diff; git log --oneline; git rev-parse --short HEAD; git describe --always --abbrev=7 --long v1 HEAD`

func TestAbbreviatedIDsKeepTheirLength(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	many := repo{dir: fixtures, work: fixtures}
	if out, code := many.bash(t, prelude+makeMany); code != 0 {
		t.Fatalf("making the repository: exit code %d\n%s", code, out)
	}
	for _, tt := range []struct {
		name, script string
		digits       int
		set          string // core.abbrev in the repository afterwards
		env          []string
		elsewhere    string // mode of a scrub in another container before
	}{
		{name: "of the full repository", digits: 8, set: "8"},
		{name: "of the full repository, whose scrub another container shares", digits: 8, set: "8", elsewhere: boxgit.Share},
		{name: "that its user has set, whose scrub another container shares", script: `git config -f ../user core.abbrev 11`, digits: 11, env: []string{"GIT_CONFIG_GLOBAL=%s/user"}, elsewhere: boxgit.Share},
		{name: "that it does not have to keep", script: `git branch -qD ahead; git repack -qad; git prune --expire=now; git tag odd $(echo b | git hash-object -w --stdin)`, digits: 7},
		{name: "that the repository has set", script: `git config core.abbrev 12`, digits: 12, set: "12"},
		{name: "that it has set by another file", script: `git config include.path other; git config -f .git/other core.abbrev 13`, digits: 13},
		{name: "that its user has set", script: `git config -f ../user core.abbrev 11`, digits: 11, env: []string{"GIT_CONFIG_GLOBAL=%s/user"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := hostile(t, `cp -R "$TEMPLATE/../many" repo; cd repo; `+tt.script, "repo")
			for _, e := range tt.env {
				r.env = append(r.env, strings.ReplaceAll(e, "%s", r.dir))
			}
			before, _ := r.bash(t, shown)
			if tt.elsewhere != "" {
				r = r.scrubElsewhere(t, tt.elsewhere)
			}
			if report := r.scrub(t, "", boxgit.Scrub); report.Verdict != "scrubbed" {
				t.Errorf("got %+v, want verdict %q", report, "scrubbed")
			}
			if after, _ := r.bash(t, shown); after != before {
				t.Errorf("shown: %s, want after %v\nwas: %s", after, before, before)
			}
			if id, _ := r.bash(t, "git rev-parse --short HEAD"); len(strings.TrimSpace(id)) != tt.digits {
				t.Errorf("%q, want %d digits", id, tt.digits)
			}
			if set, _ := r.bash(t, "git config --file .git/config core.abbrev"); strings.TrimSpace(set) != tt.set {
				t.Errorf("core.abbrev is %q, want %q", set, tt.set)
			}
			if second := r.scrub(t); second != (boxgit.Report{Verdict: boxgit.Clean}) {
				t.Errorf("the second time: %+v, want second %v", second, (boxgit.Report{Verdict: boxgit.Clean}))
			}
		})
	}
}

// A history known to be clean still has its extra files removed, without reading objects.
func TestAKnownCleanHistoryIsNotSearched(t *testing.T) {
	t.Parallel()
	r := hostile(t, `begin repo; echo gone > .git/ORIG_HEAD; rm -rf .git/objects/??`, "repo")
	out, code := r.bash(t, boxgit.Script, "", boxgit.Known)
	if report, err := boxgit.Read([]byte(out), code); err != nil || report != (boxgit.Report{Verdict: boxgit.Clean}) {
		t.Errorf("got %+v, %v; want report %v, no error", report, err, (boxgit.Report{Verdict: boxgit.Clean}))
	}
	for _, junk := range []string{"logs", "ORIG_HEAD", "COMMIT_EDITMSG"} {
		if left, _ := filepath.Glob(filepath.Join(r.work, ".git", junk)); left != nil {
			t.Errorf("%s is left", junk)
		}
	}
}

// A repository that contradicts what is known is scrubbed.
func TestAHistoryThatDiffersFromWhatIsKnownIsScrubbed(t *testing.T) {
	t.Parallel()
	r := hostile(t, `begin repo; ahead; git remote add origin /x`, "repo")
	out, code := r.bash(t, boxgit.Script, "", boxgit.Known)
	if report, err := boxgit.Read([]byte(out), code); err != nil || report.Verdict != "scrubbed" {
		t.Errorf("got %+v, %v; want verdict %q, no error", report, err, "scrubbed")
	}
	if out, _ := r.bash(t, found); strings.TrimSpace(out) != "" {
		t.Errorf("found, want nothing:\n%s", out)
	}
}
