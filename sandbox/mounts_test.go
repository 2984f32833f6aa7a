package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// somewhere is an engine of which only the place is known.
type somewhere struct {
	engine.Engine
	about engine.About
}

func (somewhere) CheckNetwork(context.Context, string) error    { return nil }
func (p somewhere) About(context.Context) (engine.About, error) { return p.about, nil }

func TestMountsDoNotGiveAwayTheMachine(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"state/batch/x", "run", "data", "home", "out/run/x"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "run", "engine.sock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "home", "all")); err != nil {
		t.Fatal(err)
	}
	here := engine.About{Local: true, Address: "unix://" + filepath.Join(dir, "run", "engine.sock")}
	for source, want := range map[string]string{
		"data": "", "home": "",
		"run": "the engine's socket", "run/engine.sock": "the engine's socket", "state": "batch's state folder",
		"state/batch/x": "batch's state folder", ".": "the engine's socket", "home/all": "the engine's socket", "none": "no such file",
		"/": "the whole machine", "/proc/self": "other processes", "/run": "the sockets of services", "out": "what batch works with", "out/run/x": "what batch works with",
	} {
		if !filepath.IsAbs(source) {
			source = filepath.Join(dir, source)
		}
		c := Config{State: filepath.Join(dir, "state", "batch"), Private: []string{filepath.Join(dir, "out", "run")}, Container: engine.Spec{Mounts: []engine.Mount{{Source: source, Target: "/in"}}}}
		err := c.check(t.Context(), somewhere{about: here})
		if want == "" && err != nil || want != "" && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), source)) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
		files := c
		files.Container = engine.Spec{Files: engine.Files{Folder: source}}
		err = files.check(t.Context(), somewhere{about: here})
		if want == "" && err != nil || want != "" && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "agent.program.files: "+source)) {
			t.Errorf("the files of %s: %v, want %q", source, err, want)
		}
		if err := files.check(t.Context(), somewhere{about: engine.About{Address: "tcp://far:2375"}}); want == "" && err != nil {
			t.Errorf("the files of %s, elsewhere: %v", source, err)
		}
		err = c.check(t.Context(), somewhere{about: engine.About{Address: "tcp://far:2375"}})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "tcp://far:2375 is elsewhere") {
			t.Errorf("elsewhere: %v", err)
		}
	}
}
