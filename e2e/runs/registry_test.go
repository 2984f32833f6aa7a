package runs

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/docker"
	"batch.example/batch/e2e"
	"batch.example/batch/imagecache"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/internal/tier"
)

// These tests run the program, or its image cache, against the real engine and
// a registry.

// pushed stores n images that share the layer base in r, and returns their
// names. They are removed from the engine at the end.
func pushed(t *testing.T, r *registrytest.Registry, base registrytest.Layer, n, size int) []string {
	t.Helper()
	refs := make([]string, n)
	for i := range refs {
		refs[i] = r.Push(fmt.Sprintf("team/thing%d:1", i), registrytest.NewImage(t, base, registrytest.NewLayer(t, size)))
		t.Cleanup(func() { e2e.RemoveImage(t, refs[i]) })
	}
	return refs
}

// here returns the refs that the engine has.
func here(t *testing.T, e *docker.Engine, refs []string) []string {
	t.Helper()
	var out []string
	for _, ref := range refs {
		if _, ok, err := e.Image(t.Context(), ref, ""); err != nil {
			t.Fatal(err)
		} else if ok {
			out = append(out, ref)
		}
	}
	return out
}

func TestEvictionKeepsImagesInUseAndOfTheUser(t *testing.T) {
	tier.Rest(t, "imagecache", "docker/images", "sandbox/*.go")
	e := e2e.Connect(t)
	r := registrytest.Start(t, false)
	refs := pushed(t, r, registrytest.NewLayer(t, 100<<10), 4, 100<<10)
	users, used, idle, next := refs[0], refs[1], refs[2], refs[3]
	img, err := e.Ensure(t.Context(), users, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := imagecache.OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := imagecache.New(docker.Sandboxes{Engine: e}.ImageEngine(), ledger, imagecache.Options{
		Budget: img.Size * 7 / 4, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	acquire := func(ref string) (release func()) {
		t.Helper()
		_, release, err := c.Acquire(t.Context(), ref, ref, nil)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	acquire(users)()
	acquire(used)()
	container, err := exec.CommandContext(t.Context(), "docker", "create", used, "none").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, container)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rm", strings.TrimSpace(string(container))).Run() })
	acquire(idle)()
	acquire(next)() // the base and two images fit, not three
	if got, want := strings.Join(here(t, e, refs), " "), users+" "+used+" "+next; got != want {
		t.Errorf("left %s, want %s", got, want)
	}
	entries, err := ledger.Entries()
	if err != nil || len(entries) != 2 || entries[0].Digest == "" || len(entries[0].Layers) != 2 {
		t.Errorf("ledger %+v, %v; want 2 entries, some digest, 2 layers, no error", entries, err)
	}
}

func TestARunKeepsToItsDiskBudget(t *testing.T) {
	tier.Rest(t, "imagecache", "docker/images", "sandbox/*.go")
	e := e2e.Connect(t)
	r := registrytest.Start(t, false)
	root, err := enginetest.Root(strings.Fields("bash cat env mkdir rm setsid sleep timeout"), nil)
	if err != nil {
		t.Fatal(err)
	}
	const own = 1 << 20
	refs := pushed(t, r, registrytest.PackLayer(root), 5, own)
	if _, err := e.Ensure(t.Context(), refs[0], "", nil); err != nil { // pulled by the user
		t.Fatal(err)
	}
	layers, err := e.Layers(t.Context(), refs[0], "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var rows strings.Builder
	for i, ref := range refs[1:] {
		fmt.Fprintf(&rows, `{"instance_id":"thing__%d","problem_statement":"p","image_name":%q}`+"\n", i, ref)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	budget := layers[0].Size + 5*layers[1].Size/2 // room for two images
	out, err := e2e.Batch(t, dir, "run", "--subset", "rows.jsonl", "-m", "noop", "-o", "out", "-w", "2",
		"--prefetch", "1", "--disk-reserve", "1MB", "--disk-budget", fmt.Sprint(budget)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	left := here(t, e, refs)
	if len(left) > 3 || len(left) == 0 || left[0] != refs[0] {
		t.Errorf("left %v of %v; want rest at most 3, some rest, rest 0 %v\n%s", left, refs, refs[0], out)
	}
	var manifest struct {
		Images map[string]struct{ Digest string }
	}
	e2e.ReadJSON(t, filepath.Join(dir, "out", "manifest.json"), &manifest)
	for id, image := range manifest.Images {
		if !strings.HasPrefix(image.Digest, "sha256:") {
			t.Errorf("%s: digest %q, want digest beginning with %q", id, image.Digest, "sha256:")
		}
	}
	if len(manifest.Images) != 4 {
		t.Errorf("%d images in the manifest, want all", len(manifest.Images))
	}
}

func TestImagesPullWaitsForARateLimit(t *testing.T) {
	tier.Rest(t, "docker/images", "cmd/batch/images*.go")
	e2e.Connect(t)
	r := registrytest.Start(t, false)
	ref := pushed(t, r, registrytest.NewLayer(t, 1<<10), 1, 1<<10)[0]
	limit := registrytest.Refuse(429, "TOOMANYREQUESTS", "retry-after: 20ms, allowed: 1/hour")
	each := r.Requests(registrytest.Manifests(limit), func() { _ = exec.Command("docker", "pull", ref).Run() })
	r.Break(registrytest.Manifests(registrytest.First(each, limit)))
	dir := t.TempDir()
	out, err := e2e.Batch(t, dir, "images", "pull", "--disk-reserve", "1MB", "--subset", rowOf(t, dir, ref)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the registry limits pulls; waiting") || !strings.Contains(string(out), "1 pulled") {
		t.Errorf("got %v, want %q in the output, %q in the output, no error\n%s",
			err, "the registry limits pulls; waiting", "1 pulled", out)
	}
}

func TestImagesPullUsesTheUsersLogin(t *testing.T) {
	tier.Rest(t, "docker/images", "cmd/batch/images*.go")
	e2e.Connect(t)
	r := registrytest.Start(t, true)
	ref := pushed(t, r, registrytest.NewLayer(t, 1<<10), 1, 1<<10)[0]
	for _, good := range []bool{false, true} { // an image that was pulled needs no login
		password := registrytest.Password
		if !good {
			password = "not the password"
		}
		dir := t.TempDir()
		cmd := e2e.Batch(t, dir, "images", "pull", "--disk-reserve", "1MB", "--subset", rowOf(t, dir, ref))
		cmd.Env = append(cmd.Env, "DOCKER_CONFIG="+registrytest.Login(t, r.Host(), registrytest.User, password))
		out, _ := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		if good && code != e2e.ExitOK || !good && (code != e2e.ExitIncomplete || !strings.Contains(string(out), "docker login")) {
			t.Errorf("good login %v: exit code %d\n%s", good, code, out)
		}
		if strings.Contains(string(out), password) {
			t.Errorf("the output contains the password:\n%s", out)
		}
	}
}

// rowOf writes a dataset of one instance that needs ref, and returns its name.
func rowOf(t *testing.T, dir, ref string) string {
	t.Helper()
	row := fmt.Sprintf(`{"instance_id":"thing__1","problem_statement":"p","image_name":%q}`+"\n", ref)
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	return "rows.jsonl"
}
