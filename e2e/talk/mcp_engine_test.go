package talk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// inBash is an MCP server in bash. For a call it runs the first script and returns
// its output; its tools are the second script's.
func inBash(call, tools string) string {
	return `while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case $line in
  *'"method":"server/discover"'*) say '"error":{"code":-32601,"message":"no"}';;
  *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bash","version":"1"}}';;
  *'"method":"tools/list"'*) say '"result":{"tools":[` + tools + `]}';;
  *'"method":"tools/call"'*) say '"result":{"content":[{"type":"text","text":"'"$(` + call + `)"'"}]}';;
  esac
done
`
}

var (
	codeServer = inBash(`echo called >>/tmp/called; echo "$PWD $(ls -A | head -n 1) ${#CODE_KEY}"`,
		`{"name":"outline","inputSchema":{"type":"object"}},{"name":"erase","inputSchema":{"type":"object"}}`)
	notesServer = `echo "$$" >>"$NOTES.pid"
echo "my key is $NOTES_KEY" >&2
` + inBash(`env >>"$NOTES"; echo noted`, `{"name":"add","description":"Adds a note.","inputSchema":{"type":"object"}}`)
)

// webServer is one over HTTP, for callers with the key.
func webServer(t *testing.T, key string, refused *atomic.Int64) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}`,
			"tools/list": `{"tools":[{"name":"find","description":"Finds.","inputSchema":{"type":"object"}}]}`,
			"tools/call": `{"content":[{"type":"text","text":"found nothing"}],"isError":true}`,
		}[m.Method]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case result == "":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnAgentUsesMCPServers(t *testing.T) {
	tier.Rest(t, "agent", "internal/box", "attempt/session", "attempt/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	const codeKey, notesKey, webKey = "open-sesame-code", "open-sesame-notes", "open-sesame-web"
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	notes := filepath.Join(dir, "elsewhere", "notes")
	var refused atomic.Int64
	url := webServer(t, webKey, &refused)
	for name, text := range map[string]string{
		"notes.sh": notesServer,
		"servers.yaml": fmt.Sprintf(`agent:
  mcp_servers:
    code: {command: [bash, /opt/server.sh], inside: true, env: {CODE_KEY: "${TEST_CODE_KEY}"}, tools: [outline]}
    notes: {command: [bash, %q], env: {NOTES: %q, NOTES_KEY: %s}, tools: ["*"]}
    web: {url: %q, headers: {Authorization: "Bearer ${TEST_WEB_KEY}"}, tools: [find]}
`, filepath.Join(dir, "notes.sh"), notes, notesKey, url),
		"play.yaml": `"*":
- tool_calls:
  - {name: code__outline, arguments: {path: here}}
  - {name: notes__add, arguments: {}}
  - {name: web__find, arguments: {}}
- tool_calls:
  - {name: code__erase, arguments: {}}
- bash: cat /tmp/called; git status --short
- bash: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Dir(notes), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		cmd := e2e.Batch(t, dir, append([]string{
			"run", "--subset", "rows.jsonl", "--slice", ":1", "-m", "scripted/play.yaml", "-o", "out", "-q", "-c", "servers.yaml",
			"-c", "run.env_startup_command={% raw %}cat >/opt/server.sh <<'END'\n" + codeServer + "END\n{% endraw %}",
		}, args...)...)
		cmd.Env = append(cmd.Env, "TEST_CODE_KEY="+codeKey, "OPENAI_API_KEY=sk-not-for-servers")
		if len(args) == 0 {
			cmd.Env = append(cmd.Env, "TEST_WEB_KEY="+webKey)
		}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run("-c", "agent.step_limit=9"); code != e2e.ExitUsage || !strings.Contains(out, "TEST_WEB_KEY, which is not set") {
		t.Errorf("without a variable: exit code %d, want %d: %s", code, e2e.ExitUsage, out)
	}
	out, code := run()
	if r := e2e.Record(t, dir); code != e2e.ExitOK || r.Status != vocab.StatusSubmitted && r.Outcome != vocab.OutcomeEmpty || r.Steps != 4 {
		t.Fatalf("exit code %d, %+v\n%s", code, r, out)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "out", "*", "*.traj.json"))
	traj, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("/testbed .git %d", len(codeKey)), "noted", "found nothing",
		"Unknown tool 'code__erase'", "<returncode>1</returncode>", "called\\n",
	} {
		if !strings.Contains(string(traj), want) {
			t.Errorf("the trajectory lacks %q:\n%s", want, traj)
		}
	}
	tools := []string{}
	for _, rec := range e2e.OnlyJournal(t, dir) {
		var a journal.ActionData
		if rec.Type == journal.TypeAction && json.Unmarshal(rec.Data, &a) == nil && a.Tool != "" {
			tools = append(tools, a.Tool)
			if a.Command != "" {
				t.Errorf("the call of %s has the command %q", a.Tool, a.Command)
			}
		}
	}
	if got := fmt.Sprint(tools); got != "[code__outline notes__add web__find]" {
		t.Errorf("the journal has the calls %s", got)
	}
	environ, err := os.ReadFile(notes)
	if err != nil || bytes.Contains(environ, []byte("sk-not-for-servers")) || bytes.Contains(environ, []byte("TEST_")) || !bytes.Contains(environ, []byte("PATH=")) {
		t.Errorf("the environment of the server outside: %s, %v", environ, err)
	}
	pids, _ := os.ReadFile(notes + ".pid")
	for _, pid := range strings.Fields(string(pids)) {
		if data, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && bytes.Contains(data, []byte("notes.sh")) {
			t.Errorf("the server outside still runs: %q", data)
		}
	}
	if refused.Load() != 0 {
		t.Errorf("the server over HTTP refused %d requests", refused.Load())
	}
	said := false
	err = filepath.WalkDir(filepath.Join(dir, "out"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, key := range []string{codeKey, notesKey, webKey} {
			if bytes.Contains(data, []byte(key)) {
				t.Errorf("%s has the secret %s", path, key)
			}
		}
		said = said || bytes.Contains(data, []byte("my key is ********"))
		return err
	})
	if err != nil || !said {
		t.Errorf("the log lacks what the server wrote to stderr: %v", err)
	}
}
