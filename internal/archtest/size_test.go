package archtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// most is how many lines of Go each first-level folder may have, tests apart. A commit that needs
// more removes something first. If that cannot be, it raises the figure, and says on the figure's
// line what went in return, or why nothing did.
var most = map[string]int{
	"":           76,    // lines for audit, control, notes and view; before: a line each for shards and kube
	"agent":      14259, // messages of people, limits that change, calls that are held; before: actions that take less memory; before: environment.engines and environment.pod; problems of templates are listed in the order of the file again
	"audit":      2705,  // more forms of pip, uv and curl, texts that are piped to a shell; before: detectors of what is not the agent's own work
	"authority":  73,
	"chat":       1383,
	"cmd":        11595, // batch view, ctl, audit, note and --detach: five commands; the view takes the address of --listen and the settings of TLS from serve; before: sweeps merged, --json of merge, SIGTERM in a pod; doctor --try; batch merge, what shards may cost, --engine, several engines in clean and images, less garbage of many agents
	"control":    1320,  // a client checks the user of the server, an id names one whole command; before: the socket of running work, its client, and the log of commands
	"dataset":    4351,  // a shard as JSON; an instance's shard follows from its id
	"designs":    214,
	"docker":     4800, // Podman without root: what it limits, and its page
	"docs":       156,  // lines for viewing, auditing, control and notes; before: lines for shards, engines and kubernetes
	"doctor":     453,  // two addresses of one engine; doctor --try; several engines, and what an engine itself checks
	"e2e":        975,  // StartHelper, in place of two copies in tests
	"engines":    200,  // engines on one machine, in the page; the page says where grades name their engine; before: addresses, their page, and several engines in one run
	"fault":      174,
	"grade":      12880, // a submission says where a person helped
	"imagecache": 1607,  // evictions are reported; one open file for all holds on an image, and not one for each agent
	"internal":   12353, // a browser of tests reaches this machine; before: runners in pods; a call of tests to the cluster; the helper of pods: its socket, its network, its memory; internal/kubetest; before: enginetest.Testbed, in place of Docker images in tests
	"journal":    2840,  // records read one by one, for pages of an attempt; before: writers share buffers; the engine of a container
	"kube":       2910,  // runners in pods; the time of pulls, and the helper from an image; before: pods of a cluster as sandboxes
	"llm":        17094, // an encoded conversation in pieces
	"report":     8383,  // notes and labels, findings of the audit; before: the engines that graded, in the status; before: engines in the status
	"results":    9923,  // a prediction says that a person helped; before: results/notes; files of SWE-agent and in ATIF; parts of a conversation as steps; the engine of a grade; a directory that is read is held; engines
	"run":        11812, // a message that comes too late is refused; before: a run, a sweep and grading are watched and changed while they work; before: sweeps are merged; the engine of a grade; before: run/merging makes one directory of shards; several engines; a width that needs more open files than there are is refused
	"runner":     1527,  // pauses, halted jobs, jobs that are added: see package control
	"sandbox":    5311,  // a test of programs begins again; before: an absent engine joins later; doctor --try, the time of pulls; several engines in one run; capabilities, which moved here from docker; before: images of two directories, in place of Docker in tests; comments for authors of engines; a flaky test fixed
	"scripts":    1413,  // a picture of a page of a server; before: Kubernetes' programs in one, and its pause image
	"serve":      2862,
	"session":    1479, // a message of a person
	"solver":     2203, // messages of people and limits of running attempts; before: the engine of an attempt
	"swebench":   2188, // a prediction says that a person helped
	"view":       6621, // outputs of earlier attempts are exported, a page that fails does not end an export; before: pages about runs in a browser, an index of attempts, a search over them
	"vocab":      490,
}

// slack is how far below its figure a room may be, so that not every commit changes the table.
const slack = 100

func TestRoomsKeepTheirSize(t *testing.T) {
	have, err := sizes(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range oversized(have, most) {
		t.Error(v)
	}
}

// sizes counts the lines of Go per first-level folder. Tests and hidden folders do not count.
func sizes(root fs.FS) (map[string]int, error) {
	have := map[string]int{}
	err := fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && len(e.Name()) > 1 && strings.ContainsAny(e.Name()[:1], "._"), e.IsDir() && e.Name() == "testdata":
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, path)
		room, _, inside := strings.Cut(path, "/")
		if !inside {
			room = ""
		}
		have[room] += bytes.Count(text, []byte("\n"))
		return err
	})
	return have, err
}

// oversized says which rooms have more lines than they may, and which figures are too high.
func oversized(have, most map[string]int) (found []string) {
	for _, room := range slices.Sorted(maps.Keys(have)) {
		switch n, limit := have[room], most[room]; {
		case n > limit:
			found = append(found, fmt.Sprintf("%q has %d lines of Go, and may have %d: remove some, or raise the figure in size_test.go and give the reason there", room, n, limit))
		case n < limit-slack:
			found = append(found, fmt.Sprintf("%q has only %d lines of Go: lower its figure in size_test.go from %d", room, n, limit))
		}
	}
	for _, room := range slices.Sorted(maps.Keys(most)) {
		if have[room] == 0 {
			found = append(found, fmt.Sprintf("%q has no Go any more: remove its figure from size_test.go", room))
		}
	}
	return found
}

func TestTheSizeCheckCatches(t *testing.T) {
	dir := t.TempDir()
	for name, lines := range map[string]int{
		"doc.go": 1, "big/a.go": 60, "big/in/b.go": 50, "big/a_test.go": 500, "small/a.go": 5, "kept/a.go": 50, "kept/testdata/a.go": 900,
		".git/a.go": 7, "_build/a.go": 8, "new/a.go": 1,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("\n", lines)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := sizes(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(oversized(have, map[string]int{"": 1, "big": 109, "small": 106, "kept": 50 + slack, "gone": 3}), "\n")
	for _, want := range []string{`"big" has 110`, `"new" has 1 lines`, `"small" has only 5`, `"gone" has no Go`} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 4 {
		t.Errorf("%d complaints, want 4:\n%s", n, got)
	}
}
