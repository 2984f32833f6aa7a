package runs

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"batch.example/batch/docker/containers"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// evil is text that would take control of a terminal: it sets the title, colors,
// erases (also by C1), reverses letters and moves back to overwrite.
const evil = "E\x1b]0;owned\a\x1b[31m\u009b2J\u202ed\u2066\x7f\b\rvil"

// seen is how the beginning of evil is displayed.
const seen = `E\u001b]0;owned\u0007`

// sly is the part of evil that an instance_id may hold, and slySeen how it is displayed.
const (
	sly     = "S\u009b2J\u202ed\u2066ly"
	slySeen = `S\u009b2J\u202ed\u2066ly`
)

// evilName is evil as a file name, with bytes that are not UTF-8.
const evilName = evil + "\x9b31m"

// ownEscapes matches the escapes that batch's display writes: see internal/progress.
var ownEscapes = regexp.MustCompile(`\x1b\[([0-9]+A|K|J|\?7[lh])|\r`)

// harmless reports what in out a terminal would act on, except newlines and tabs.
func harmless(out string) error {
	for i, r := range out {
		if r == utf8.RuneError && !strings.HasPrefix(out[i:], "\uFFFD") || r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return fmt.Errorf("%q at byte %d, in %q", out[i:min(len(out), i+1)], i, out[max(0, i-40):min(len(out), i+20)])
		}
	}
	return nil
}

// session is one command line, and what of evil must be displayed in its output.
type session struct {
	args []string
	env  []string
	seen string
}

// play runs a session once with its output in a pipe and once on a terminal.
func (s session) play(t *testing.T, dir string) {
	t.Helper()
	t.Run(strings.ToValidUTF8(strings.Join(s.args, " "), ""), func(t *testing.T) {
		command := func() *exec.Cmd {
			cmd := e2e.Batch(t, dir, s.args...)
			cmd.Env = append(append(cmd.Env, "HF_HOME="+t.TempDir()), s.env...) // an empty cache
			return cmd
		}
		piped, _ := command().CombinedOutput() // some commands fail by intention
		shown := ownEscapes.ReplaceAllString(e2e.OnTerminal(t, command()), "")
		for how, out := range map[string]string{"in a pipe": string(piped), "on a terminal": shown} {
			if err := harmless(out); err != nil {
				t.Errorf("%s: %v", how, err)
			}
			if !strings.Contains(out, s.seen) || out == "" {
				t.Errorf("%s: nowhere is %q in %q; want %q in the output, some output", how, s.seen, out, s.seen)
			}
		}
	})
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// evilRow is a row of a dataset that has evil wherever it is allowed.
func evilRow(id, image string) map[string]any {
	return map[string]any{
		"instance_id": id + sly, "problem_statement": evil + "\r\n\tsecond line", "repo": evil, "version": evil, "base_commit": evil,
		"image_name": image, "FAIL_TO_PASS": []string{evil}, evil: evil,
	}
}

// evilRun is a run directory into which other tools and a provider have written evil.
func evilRun(t *testing.T, dir string) {
	t.Helper()
	store, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	attempt, err := store.Begin("mine"+evil, manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Put(t.Context(), &results.Result{Record: results.Record{
		InstanceID: "mine" + evil, Attempt: attempt.Number(), Status: evil, Outcome: vocab.OutcomeInfrastructure, Blame: "transient", Error: evil, Model: evil,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	argv := []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-o", dir}
	request := manifest.NewRequest()
	request.Dir, request.Subset, request.Model, request.Output = filepath.Dir(dir), "rows.jsonl", "noop", dir
	e2e.WriteFiles(t, dir, map[string]string{
		"preds.json": toJSON(t, map[string]any{
			evil: map[string]any{"model_name_or_path": evil, "instance_id": evil, "model_patch": evil},
			"b":  map[string]any{"model_name_or_path": evil, "instance_id": "b", "model_patch": ""},
		}),
		evil + "/" + evil + ".traj.json":   toJSON(t, map[string]any{"info": map[string]any{"exit_status": evil}}),
		"b/b.traj.json":                    toJSON(t, map[string]any{"info": map[string]any{"exit_status": evil}}),
		"broken" + evil + "/journal.jsonl": evil + "\n" + evil + "\n",
		".batch.lock":                      evil,
		"manifest.json": toJSON(t, manifest.Manifest{
			Format: manifest.Version, Command: "run", Argv: argv, Request: &request, Model: evil,
			Config: map[string]any{evil: evil}, Dataset: manifest.Dataset{Name: evil, Split: evil, Instances: []string{evil, "mine" + evil}},
		}),
	})
}

func TestFilesThatAreReadCannotControlTheTerminal(t *testing.T) {
	tier.Rest(t, "internal/printable", "internal/progress", "internal/tty", "report", "cmd/batch", "attempt/chat", "dataset", "docker", "run/doctor", "run", "results", "agent", "fault")
	t.Parallel()
	dir := t.TempDir()
	rows := toJSON(t, evilRow("a", "batch-demo/"+evil)) + "\n"
	e2e.WriteFiles(t, dir, map[string]string{"rows.jsonl": rows, evilName + ".jsonl": rows, evilName + "-broken.jsonl": "{" + evil, "evil.yaml": evil})
	evilRun(t, filepath.Join(dir, "out"))
	evilRun(t, filepath.Join(dir, evilName))
	e2e.WriteFiles(t, dir, map[string]string{"other/preds.json": "{}", "other/manifest.json": toJSON(t, manifest.Manifest{Format: manifest.Version, Model: "m"})})
	noEngine := []string{"DOCKER_HOST=unix:///" + evilName}
	for _, s := range []session{
		{args: []string{"dataset", "--subset", "rows.jsonl"}, seen: seen},
		{args: []string{"dataset", "--subset", "rows.jsonl", "a" + sly}, seen: seen},
		{args: []string{"dataset", "--subset", "rows.jsonl", "--json"}, seen: seen},
		{args: []string{"dataset", "--subset", "rows.jsonl", evil}, seen: seen},
		{args: []string{"dataset", "--subset", evilName + ".jsonl"}, seen: seen},
		{args: []string{"dataset", "--subset", evilName + "-broken.jsonl"}, seen: seen},
		{args: []string{"dataset", "--subset", "no" + evilName + ".jsonl"}, seen: seen},
		{args: []string{"dataset", "--subset", "rows.jsonl", "--filter", "(" + evilName}, seen: seen},
		{args: []string{"dataset", "--subset", "rows.jsonl", "--slice", evilName}},
		{args: []string{"status", "out"}, seen: seen},
		{args: []string{"status", "out", "--attempts"}, seen: seen},
		{args: []string{"status", "out", "--json"}, seen: seen},
		{args: []string{"status", evilName}, seen: seen},
		{args: []string{"retry", "out", "--status", "none"}, seen: seen},
		{args: []string{"retry", "out", evilName}, seen: seen},
		{args: []string{"retry", evilName, "mine" + evil, "--dry-run"}, seen: seen},
		{args: []string{"resume", "out", "--dry-run"}, seen: seen},
		{args: []string{"resume", "no" + evilName}, seen: seen},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-o", "fresh", "--dry-run"}, seen: seen},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", evilName, "-o", "fresh"}, seen: seen},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-o", "out"}, seen: seen},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-c", "evil.yaml", "-o", "fresh"}},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-c", "no" + evilName + ".yaml", "-o", "fresh"}, seen: seen},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-c", evil + "=1", "-o", "fresh"}, seen: seen},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-c", evilName + "=1", "-o", "fresh"}, seen: "not valid UTF-8"},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", "noop", "--memory", evilName, "-o", "fresh"}},
		{args: []string{"images", "--subset", "rows.jsonl"}, env: noEngine},
		{args: []string{"images", "pull", "--subset", "rows.jsonl"}, env: noEngine},
		{args: []string{"images", "evict"}, env: noEngine},
		{args: []string{"clean"}, env: noEngine},
		{args: []string{"doctor"}, env: append([]string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + evilName, "HF_HOME=" + evilName}, noEngine...), seen: seen},
		{args: []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-o", "fresh"}, env: noEngine},
		{args: []string{evilName}},
		{args: []string{"run", "--" + evilName}},
	} {
		s.play(t, dir)
	}
}

func TestNamesFromTheHubCannotControlTheTerminal(t *testing.T) {
	tier.Rest(t, "internal/printable", "internal/progress", "internal/tty", "report", "cmd/batch", "attempt/chat", "dataset", "docker", "run/doctor", "run", "results", "agent", "fault")
	row := toJSON(t, evilRow("a", "i"))
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/api/datasets/own/set/"):
			fmt.Fprintf(w, `{"sha":"0123456789abcdef0123456789abcdef01234567","siblings":[{"rfilename":%s}]}`, toJSON(t, "test-"+evil+".jsonl"))
		case strings.HasPrefix(r.URL.Path, "/datasets/own/set/"):
			w.Header().Set("ETag", `"e"`)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(row))
		default:
			http.Error(w, evil, http.StatusNotFound)
		}
	}))
	defer hub.Close()
	dir := t.TempDir()
	for _, s := range []session{
		{args: []string{"dataset", "--subset", "own/set", "--split", "test"}, seen: seen},
		{args: []string{"dataset", "--subset", "own/set", "--split", evilName}, seen: seen},
		{args: []string{"dataset", "--subset", "other/set", "--revision", evil}},
	} {
		s.env = []string{"HF_ENDPOINT=" + hub.URL, "HF_HUB_OFFLINE=0"}
		s.play(t, dir)
	}
}

// Data for programs is exact, byte for byte of each text.
func TestDataForProgramsStaysExact(t *testing.T) {
	tier.Rest(t, "internal/printable", "internal/progress", "internal/tty", "report", "cmd/batch", "attempt/chat", "dataset", "docker", "run/doctor", "run", "results", "agent", "fault")
	dir := t.TempDir()
	row := evilRow("a", "i")
	e2e.WriteFiles(t, dir, map[string]string{"rows.jsonl": toJSON(t, row) + "\n"})
	out, err := e2e.Batch(t, dir, "dataset", "--subset", "rows.jsonl", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	if got, want := toJSON(t, back), toJSON(t, row); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	evilRun(t, filepath.Join(dir, "out"))
	found := map[string]bool{}
	for _, in := range e2e.Status(t, dir).Instances {
		found[in.InstanceID+string(in.Status)] = true
	}
	if !found["mine"+evil+evil] || !found[evil+evil] || !found["b"+evil] {
		t.Errorf("the status lacks an instance or status that was written: %q", slices.Collect(maps.Keys(found)))
	}
}

// Any run on the machine's engine would remove the container that is found here.
func TestContainersThatCleanFindsCannotControlTheTerminal(t *testing.T) {
	tier.Rest(t, "internal/printable", "internal/progress", "internal/tty", "report", "cmd/batch", "attempt/chat", "dataset", "docker", "run/doctor", "run", "results", "agent", "fault")
	t.Parallel()
	d := e2e.OwnEngine(t)
	if out, err := exec.CommandContext(t.Context(), "docker", "-H", d.Host(), "create", "--network", "none", "--label", containers.LabelOwner+"="+evil,
		"--label", engine.LabelInstance+"="+evil, "--label", engine.LabelRun+"=a\x7fb", // slog quotes only the first
		"--label", containers.LabelExpires+"=2000-01-01T00:00:00Z", e2e.OwnImage, "bash").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"clean", "--dry-run"}, {"clean", "--json", "--dry-run"}} {
		session{args: args, env: []string{"DOCKER_HOST=" + d.Host()}}.play(t, t.TempDir())
	}
}

// Texts of a model, its provider and an engine must be harmless while they arrive
// and in the logs.
func TestTextsOfAModelCannotControlTheTerminal(t *testing.T) {
	tier.Rest(t, "internal/printable", "internal/progress", "internal/tty", "report", "cmd/batch", "attempt/chat", "dataset", "docker", "run/doctor", "run", "results", "agent", "fault")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		switch {
		case strings.Contains(string(r.Body), "refuse"):
			return stub.Refusal(400, evil, evil)
		case r.Replies() == 0:
			a := stub.Bash("printf '" + `\033[31m\233` + "'; echo $'" + `\e]0;owned\a` + "' >&2")
			a.Content, a.Model = evil, evil
			return a
		case r.Replies() == 1:
			return stub.Answer{Content: evil, Model: evil, ToolCalls: []llm.ToolCall{{ID: evil, Name: evil, Arguments: evil}}}
		}
		return stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; printf '" + `\033[31m` + "'")
	})
	dir := t.TempDir()
	const image = "batch-demo/demo__slug-1:latest"
	good, refused, imageless := evilRow("good", image), evilRow("refused", image), evilRow("imageless", "nosuch/"+evil)
	refused["problem_statement"] = "refuse"
	e2e.WriteFiles(t, dir, map[string]string{"rows.jsonl": toJSON(t, good) + "\n" + toJSON(t, refused) + "\n" + toJSON(t, imageless) + "\n"})
	env := []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_API_KEY=k"}
	run := []string{"run", "--subset", "rows.jsonl", "-m", "openai/" + evil, "-c", "model.cost_tracking=ignore_errors", "-o"}
	for _, s := range []session{
		{args: append(run, "out", "--redo-existing"), env: env, seen: seen},
		{args: append(run, evil, "--json", "--redo-existing"), env: env, seen: seen},
		{args: append(run, evilName, "-q", "--redo-existing"), env: env, seen: seen},
		{args: []string{"images", "--subset", "rows.jsonl"}, seen: seen},
		{args: []string{"images", "--subset", "rows.jsonl", "--json"}, seen: seen},
		{args: []string{"images", "pull", "--subset", "rows.jsonl"}},
		{args: []string{"status", "out", "--attempts"}, seen: seen},
	} {
		s.play(t, dir)
	}
	logs := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if name := filepath.Base(path); name != "batch.log" && name != "agent.log" {
			return err
		}
		logs++
		text, err := os.ReadFile(path)
		if bad := harmless(string(text)); bad != nil {
			t.Errorf("%q: got %v, want no error", path, bad)
		}
		return err
	})
	if err != nil || logs != 3*4 {
		t.Errorf("got %d logs, %v; want logs %v, no error", logs, err, 3*4)
	}
}
