package runs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
)

// planted are secrets by where they are planted. None may be in any file that
// a run writes for people, or in its output: only the journal is exact.
var planted = map[string]string{
	"the provider's key":   "sk-env/0123+456=789-planted",
	"the address":          "pass/word+in?url",
	"environment.env":      `svc"0123<456>\789`,
	"forward_env":          "fwd-planted-0123456789",
	"a docker login":       "registry-planted-password",
	"a pattern":            "corp-314159265358",
	"a variable's command": "pr1nt3d'by/A+c0mm4nd&0123",
}

// plantedRun returns a function that starts the program with all secrets planted.
func plantedRun(t *testing.T, dir, server string, args ...string) *exec.Cmd {
	t.Helper()
	login := base64.StdEncoding.EncodeToString([]byte("me:" + planted["a docker login"]))
	config := filepath.Join(dir, "docker")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"auths":{"registry.example":{"auth":"` + login + `"}}}`
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env, err := json.Marshal(map[string]string{"SERVICE_TOKEN": planted["environment.env"]})
	if err != nil {
		t.Fatal(err)
	}
	cmd := e2e.Batch(t, dir, append(args, "run", "--subset", "demo", "--slice", ":3", "-w", "2", "-m", "openai/stub-1", "-o", "out",
		"-c", "environment.env="+string(env), "-c", `environment.forward_env=["FORWARDED_SECRET"]`, "--mask", `corp-[0-9]{12}`)...)
	base := strings.Replace(server, "://", "://me:"+url.QueryEscape(planted["the address"])+"@", 1)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+base, "OPENAI_API_KEY="+planted["the provider's key"],
		"FORWARDED_SECRET="+planted["forward_env"], "PRINTED_KEY="+planted["a variable's command"], "DOCKER_CONFIG="+config)
	return cmd
}

// everySecret is a text with all secrets in it, in several forms.
func everySecret() string {
	var b strings.Builder
	for from, secret := range planted {
		if from == "a pattern" { // matches only the exact text
			fmt.Fprintf(&b, "%s %q\n", secret, secret)
			continue
		}
		text, _ := json.Marshal(secret)
		twice, _ := json.Marshal(string(text))
		fmt.Fprintf(&b, "%s %s %s %s %s %s\n", secret, text, twice, url.QueryEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("a:"+secret+"\n")))
	}
	return b.String()
}

// indiscreet answers with every secret in every field that can hold one.
func indiscreet(_ int, r *stub.Request) stub.Answer {
	switch r.Replies() {
	case 0:
		a := stub.Bash("cat <<'END' >/dev/stderr\n" + everySecret() + "END\nenv; echo \"$SERVICE_TOKEN $FORWARDED_SECRET\" | base64 -w0")
		a.Content = "I know " + everySecret()
		a.Message = map[string]any{"reasoning": everySecret()}
		return a
	case 1:
		return stub.Text("no command, but " + everySecret()) // a format error
	case 2:
		return stub.Answer{ToolCalls: []llm.ToolCall{{Name: everySecret(), Arguments: everySecret()}}}
	case 3:
		if strings.Contains(string(r.Body), "slug") {
			return stub.Refusal(400, "bad_request", "I refuse "+everySecret())
		}
	}
	return stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo patch")
}

func TestARunWritesNoPlantedSecret(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, indiscreet)
	dir := t.TempDir()
	var printed strings.Builder
	cmd := plantedRun(t, dir, server.URL)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != e2e.ExitOK && code != e2e.ExitIncomplete {
		t.Fatalf("exit code %d, want %d or %d\n%s", code, e2e.ExitOK, e2e.ExitIncomplete, printed.String())
	}
	for _, args := range [][]string{
		{"status", "out", "--attempts"}, {"status", "out", "--json"}, {"resume", "out", "--json"},
	} {
		again := e2e.Batch(t, dir, args...)
		again.Env = append(again.Env, cmd.Env[len(cmd.Env)-5:]...)
		out, _ := again.CombinedOutput()
		printed.Write(out)
	}
	noSecret(t, "what was printed", []byte(printed.String()))
	files := 0
	err := filepath.WalkDir(filepath.Join(dir, "out"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if d.Name() == "journal.jsonl" {
			return nil
		}
		data, err := os.ReadFile(path)
		noSecret(t, path, data)
		return err
	})
	if err != nil || files < 15 {
		t.Errorf("got %v, %d files looked at; want files at least 15, no error", err, files)
	}
	rows, err := parquet.ReadFile[results.Row](filepath.Join(dir, "out", "results.parquet"))
	if err != nil || len(rows) < 3 {
		t.Errorf("got %d rows, %v; want rows at least 3, no error", len(rows), err)
	}
	noSecret(t, "results.parquet, read", fmt.Appendf(nil, "%+v", rows))
	if !strings.Contains(printed.String(), "********") {
		t.Errorf("nothing was hidden: the run may have ended too early\n%s", printed.String())
	}
}

var base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}`)

// noSecret fails when a planted secret is in data, in any form. It decodes data
// rather than encode secrets, so that it does not repeat the masker's errors.
func noSecret(t *testing.T, where string, data []byte) {
	t.Helper()
	text := string(data)
	forms := map[string]string{
		"plain":       text,
		"as escaped":  strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\/`, "/").Replace(text),
		"as an URL's": unescaped(text),
	}
	forms["twice escaped"] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(forms["as escaped"])
	var decoded strings.Builder
	web := strings.NewReplacer("-", "+", "_", "/")
	for _, run := range base64Run.FindAllString(text, -1) {
		for offset := range 4 {
			part := web.Replace(run)[offset:]
			b, _ := base64.RawStdEncoding.DecodeString(part[:len(part)/4*4])
			decoded.Write(append(b, '\n'))
			if rest := len(part) % 4; rest > 1 {
				b, _ = base64.RawStdEncoding.DecodeString(part)
				decoded.Write(append(b, '\n'))
			}
		}
	}
	forms["in base64"] = decoded.String()
	for from, secret := range planted {
		for how, form := range forms {
			if at := strings.Index(form, secret); at >= 0 {
				t.Errorf("the secret of %s is in %s, %s: %.200q", from, where, how, form[max(0, at-60):])
			}
		}
	}
}

var percents = regexp.MustCompile(`%[0-9A-Fa-f]{2}|\+`)

func unescaped(text string) string {
	return percents.ReplaceAllStringFunc(text, func(s string) string {
		out, _ := url.QueryUnescape(s)
		return out
	})
}

func TestTheSearchForSecretsFindsThem(t *testing.T) {
	for from := range maps.Keys(planted) {
		secret := planted[from]
		text, _ := json.Marshal(secret)
		twice, _ := json.Marshal(string(text))
		for _, form := range []string{
			secret, string(text), string(twice), url.QueryEscape(secret),
			base64.StdEncoding.EncodeToString([]byte("x:" + secret)), base64.URLEncoding.EncodeToString([]byte("xy:" + secret + "z")),
		} {
			probe := &testing.T{}
			if noSecret(probe, "", []byte("before "+form+" after")); !probe.Failed() {
				t.Errorf("%s is not found as %s", from, form)
			}
		}
	}
}

func TestAPatchWithASecretIsKeptAndReported(t *testing.T) {
	tier.Rest(t, "internal/mask", "attempt/session", "attempt/*.go", "journal", "results/*.go", "runner", "agent/*.go", "run/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	// Killed, and resumed when its output or its submission was just recorded.
	for _, spec := range []string{"", "journal.append:9=kill", "journal.append:10=kill"} {
		t.Run(spec, func(t *testing.T) { patchWithASecret(t, spec) })
	}
}

func patchWithASecret(t *testing.T, spec string) {
	t.Helper()
	secret := planted["a variable's command"]
	patch := "diff\n+key = " + secret + "\n"
	server := stub.NewServer(t, stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat <<'END'\n"+patch+"END"))
	dir := t.TempDir()
	if spec != "" {
		first := plantedRun(t, dir, server.URL)
		first.Args = append(first.Args, "--slice", ":1", "--inject", spec)
		if out, err := first.CombinedOutput(); err == nil {
			t.Fatalf("the run was not killed\n%s", out)
		}
	}
	cmd := plantedRun(t, dir, server.URL)
	cmd.Args = append(cmd.Args, "--slice", ":1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "PRINTED_KEY") || strings.Contains(string(out), secret) {
		t.Errorf("the warning does not name the variable, or contains its value:\n%s", out)
	}
	for id, text := range e2e.Predictions(t, filepath.Join(dir, "out")) {
		file, err := os.ReadFile(filepath.Join(dir, "out", id, id+".patch"))
		if err != nil || string(file) != patch || text != patch {
			t.Errorf("%v: the patch is %q and %q, want %q", err, file, text, patch)
		}
	}
	trajectory, _ := filepath.Glob(filepath.Join(dir, "out", "*", "*.traj.json"))
	data, err := os.ReadFile(trajectory[0])
	if err != nil {
		t.Fatal(err)
	}
	noSecret(t, trajectory[0], data)
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests, want one", n)
	}
}
