package run

import (
	"os"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
)

// `batch run --grade` prepares the container of the tests as `batch grade` does.
func TestTestsOfARunHaveItsStartupCommand(t *testing.T) {
	cfg := &config.Config{}
	cfg.Run.EnvStartupCommand = "touch /ready"
	s := &Setup{Request: Request{Grade: true}, Process: testProcess(t), Settings: cfg}
	startup := s.Grading().Startup
	if startup == nil {
		t.Fatal("there is no start-up command")
	}
	if got, err := startup(dataset.Instance{ID: "a__b-1"}); got != "touch /ready" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWhatARequestNamesIsListed(t *testing.T) {
	cfg := &config.Config{}
	cfg.Model.ModelKwargs = map[string]any{"api_base": "https://a.example/v1", "temperature": 1}
	cfg.Environment.ForwardEnv = []string{"TOKEN"}
	cfg.Environment.Engines = []config.Engine{{Address: "tcp://far:2376"}}
	mount, err := config.Load([]string{`environment.run_args=["-v","/data:/in:ro"]`}, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mount.Environment.ForwardEnv, mount.Environment.Engines = cfg.Environment.ForwardEnv, cfg.Environment.Engines
	cfg.Environment = mount.Environment
	cfg.Agent.MCPServers = map[string]config.MCPServer{
		"here": {Command: []string{"sh", "-c", "x"}}, "inside": {Command: []string{"y"}, Inside: true}, "there": {URL: "https://b.example"},
	}
	s := &Setup{Request: Request{Output: t.TempDir()}, Settings: cfg}
	s.Engines = []string{"ssh://host", "unix:///var/run/docker.sock", "default"}
	want := []string{
		"/data of this machine, for containers", "the MCP server https://b.example", "the engine ssh://host", "the engine tcp://far:2376", "the model's address https://a.example/v1",
		`the program ["sh" "-c" "x"] on this machine, as the MCP server here`, "the variable TOKEN, for containers",
	}
	if got := s.Named(false); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.Named(true); slices.Contains(got, "the engine ssh://host") {
		t.Errorf("%q has an engine that the user chose", got)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(s.Output, 4242, 4242); err != nil {
			t.Fatal(err)
		}
		if got := s.Named(true); !slices.Contains(got, "the files of user 4242") {
			t.Errorf("%q lacks the owner of the directory", got)
		}
	}
	if got := (&Setup{Request: Request{Output: t.TempDir()}, Settings: &config.Config{}}).Named(false); len(got) > 0 {
		t.Errorf("a plain request names %q", got)
	}
}

func TestArgumentsOfContainersThatNothingWorksWithAreRefused(t *testing.T) {
	for want, args := range map[string]string{
		"--read-only: the history":             `["--read-only"]`,
		"--pull is not possible on Kubernetes": `["--pull", "always"]`,
	} {
		cfg, err := config.Load([]string{"environment.run_args=" + args, `environment.engines=["kubernetes"]`}, config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := testProcess(t).Sandboxes(cfg, NewRequest()); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
