package harbor

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
)

// examples has every key of the format's documentation, schema 1.4, and a file that has it.
var examples = []struct {
	key   string
	state State
	text  string
}{
	{"schema_version", Done, `schema_version = "2.0"`},
	{"version", Ignored, `version = "1.0"`},
	{"source", Ignored, `source = "a"`},
	{"artifacts", Done, `artifacts = ["/a"]`},
	{"artifacts.source", Done, `artifacts = ["/a", {source = "/b"}]`},
	{"artifacts.exclude", Done, `artifacts = [{source = "/b", exclude = ["d"]}]`},
	{"artifacts.service", Done, "[[artifacts]]\nsource = \"/b\"\nservice = \"db\""},
	{"multi_step_reward_strategy", Ignored, `multi_step_reward_strategy = "final"`},
	{"task.name", Done, "[task]\nname = \"org/name\""},
	{"task.version", Ignored, "[task]\nversion = \"1\""},
	{"task.description", Ignored, "[task]\ndescription = \"a\""},
	{"task.authors", Ignored, "[task]\nauthors = [{name = \"a\", email = \"b\"}]"},
	{"task.keywords", Ignored, "[task]\nkeywords = [\"a\"]"},
	{"metadata", Ignored, "[metadata]\ndifficulty = \"easy\"\nexpert_time_estimate_min = 3.5"},
	{"agent.timeout_sec", Done, "[agent]\ntimeout_sec = 1.5"},
	{"agent.user", Done, "[agent]\nuser = 1000"},
	{"agent.network_mode", Done, "[agent]\nnetwork_mode = \"no-network\""},
	{"agent.allowed_hosts", Refused, "[agent]\nallowed_hosts = [\"a\"]"},
	{"verifier.timeout_sec", Done, "[verifier]\ntimeout_sec = 2"},
	{"verifier.env", Done, "[verifier]\nenv = {A = \"${B:-c}\"}"},
	{"verifier.user", Done, "[verifier]\nuser = \"root\""},
	{"verifier.network_mode", Done, "[verifier]\nnetwork_mode = \"no-network\""},
	{"verifier.allowed_hosts", Refused, "[verifier]\nallowed_hosts = [\"a\"]"},
	{"verifier.environment_mode", Done, "[verifier]\nenvironment_mode = \"separate\""},
	{"verifier.environment", Done, "[verifier.environment]"},
	{"verifier.environment.cpus", Done, "[verifier.environment]\ncpus = 1"},
	{"verifier.environment.gpus", Refused, "[verifier.environment]\ngpus = 1"},
	{"verifier.collect.command", Done, "[[verifier.collect]]\ncommand = \"a\""},
	{"verifier.collect.service", Done, "[[verifier.collect]]\nservice = \"db\""},
	{"verifier.collect.timeout_sec", Done, "[[verifier.collect]]\ntimeout_sec = 3"},
	{"verifier.collect.user", Done, "[[verifier.collect]]\nuser = 3"},
	{"environment.build_timeout_sec", Done, "[environment]\nbuild_timeout_sec = 5"},
	{"environment.docker_image", Done, "[environment]\ndocker_image = \"debian\""},
	{"environment.os", Done, "[environment]\nos = \"windows\""},
	{"environment.cpus", Done, "[environment]\ncpus = 2"},
	{"environment.memory_mb", Done, "[environment]\nmemory_mb = 2048"},
	{"environment.storage_mb", Done, "[environment]\nstorage_mb = 10240"},
	{"environment.memory", Done, "[environment]\nmemory = \"2G\""},
	{"environment.storage", Done, "[environment]\nstorage = \"512M\""},
	{"environment.gpus", Refused, "[environment]\ngpus = 1"},
	{"environment.gpu_types", Refused, "[environment]\ngpu_types = [\"H100\"]"},
	{"environment.tpu", Refused, "[environment.tpu]\ntype = \"v5\""},
	{"environment.env", Done, "[environment.env]\nA = \"b\""},
	{"environment.workdir", Done, "[environment]\nworkdir = \"/app\""},
	{"environment.skills_dir", Refused, "[environment]\nskills_dir = \"/s\""},
	{"environment.healthcheck", Refused, "[environment.healthcheck]\ncommand = \"true\""},
	{"environment.mcp_servers", Refused, "[[environment.mcp_servers]]\nname = \"a\""},
	{"environment.network_mode", Done, "[environment]\nnetwork_mode = \"no-network\""},
	{"environment.allowed_hosts", Refused, "[environment]\nallowed_hosts = [\"a\"]"},
	{"environment.allow_internet", Done, "[environment]\nallow_internet = false"},
	{"solution.env", Done, "[solution.env]\nA = \"b\""},
	{"steps", Refused, "[[steps]]\nname = \"a\""},
}

func TestEveryKeyIsDoneIgnoredOrRefused(t *testing.T) {
	plain := parsed(t, "")
	seen := map[string]bool{}
	for _, e := range examples {
		t.Run(e.key, func(t *testing.T) {
			k, known := find(e.key)
			seen[k.Path] = true
			if !known || k.State != e.state || k.Means == "" {
				t.Fatalf("the table has %+v for it, want the state %s and a meaning", k, e.state)
			}
			got := parsed(t, e.text)
			if len(got.Unknown) > 0 {
				t.Errorf("unknown: %q", got.Unknown)
			}
			named := slices.ContainsFunc(got.Refused, func(r string) bool { return strings.HasPrefix(r, "task.toml: "+e.key) })
			if named != (e.state == Refused) && e.state != Done {
				t.Errorf("refused %q", got.Refused)
			}
			if same := reflect.DeepEqual(got, plain); same != (e.state == Ignored) {
				t.Errorf("the same task as without the key: %v", same)
			}
		})
	}
	for _, k := range keys {
		if !seen[k.Path] && !slices.Contains([]string{"task.authors.name", "task.authors.email", "artifacts.destination"}, k.Path) {
			t.Errorf("%s has no example", k.Path)
		}
	}
}

func parsed(t *testing.T, text string) *Task {
	t.Helper()
	task, err := parse("task.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestValues(t *testing.T) {
	got := parsed(t, `
[agent]
timeout_sec = 60
[verifier.env]
KEY = "${OPENAI_API_KEY}"
[environment]
cpus = 1.5
memory = "1.5G"
memory_mb = 100
storage = "10gb"
gpus = 0
mcp_servers = []
allowed_hosts = []
network_mode = "public"
allow_internet = false
`)
	want := &Task{
		Context: "environment", BuildLimit: 10 * time.Minute, VerifierLimit: 10 * time.Minute, AgentLimit: time.Minute,
		CPUs: 1.5, Memory: 100 << 20, Storage: 10 << 30, Network: Public, VerifierEnv: map[string]string{"KEY": "${OPENAI_API_KEY}"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNetworksOfThePhases(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    Public,
		"[agent]\nnetwork_mode='no-network'":  "",
		"[environment]\nallow_internet=false": NoNetwork,
		"[environment]\nnetwork_mode='no-network'\n[verifier]\nnetwork_mode='public'":                                 "",
		"[agent]\nnetwork_mode='no-network'\n[verifier]\nenvironment_mode='separate'":                                 NoNetwork,
		"[agent]\nnetwork_mode='no-network'\n[verifier]\nnetwork_mode='no-network'":                                   NoNetwork,
		"[environment]\nnetwork_mode='no-network'\n[agent]\nnetwork_mode='public'\n[verifier]\nnetwork_mode='public'": Public,
		"[environment]\nnetwork_mode='allowlist'":                                                                     "",
	} {
		got := parsed(t, text)
		if refused := len(got.Refused) > 0; refused != (want == "") || !refused && got.Network != want {
			t.Errorf("%s: network %q, refused %q; want %q", text, got.Network, got.Refused, want)
		}
	}
}

func TestUnknownKeysAreNamedWithTheNearestOne(t *testing.T) {
	got := parsed(t, `
zzz = 1
[environment]
memory_gb = 4
dockerfile = "Dockerfile"
[metadata]
timeout_sec = 3
[agnt]
timeout_sec = 3
[verifier]
timeout = 3
`)
	want := []string{
		"agnt.timeout_sec is no key of task.toml, and is ignored: did you mean agent.timeout_sec?",
		"environment.dockerfile is no key of task.toml, and is ignored: did you mean environment.docker_image?",
		"environment.memory_gb is no key of task.toml, and is ignored: did you mean environment.memory_mb?",
		"verifier.timeout is no key of task.toml, and is ignored: did you mean verifier.timeout_sec?",
		"zzz is no key of task.toml, and is ignored",
	}
	if diff := cmp.Diff(want, got.Unknown); diff != "" {
		t.Error(diff)
	}
}

func TestWrongValuesAreErrorsThatNameTheKey(t *testing.T) {
	for text, want := range map[string]string{
		"[agent]\ntimeout_sec = 0":                                          "timeout_sec",
		"[agent]\ntimeout_sec = nan":                                        "timeout_sec",
		"[agent]\ntimeout_sec = \"60\"":                                     "timeout_sec",
		"[agent]\nuser = \"a b\"":                                           "user",
		"[environment]\ncpus = -1":                                          "cpus",
		"[environment]\nmemory = 4":                                         "memory",
		"[environment]\nmemory = \"4T\"":                                    "memory",
		"[environment]\nmemory = \"99999999G\"":                             "memory",
		"[environment]\nworkdir = \"app\"":                                  "environment.workdir",
		"[environment]\nos = \"plan9\"":                                     "environment.os",
		"[environment]\nnetwork_mode = \"x\"":                               "environment.network_mode",
		"[environment.env]\nA = 1":                                          "A",
		"artifacts = [\"a\"]":                                               "artifacts",
		"artifacts = [{source = 3}]":                                        "artifacts",
		"[verifier]\nenvironment_mode = \"shared\"\n[verifier.environment]": "verifier.environment",
		"[verifier]\nenvironment_mode = \"x\"":                              "verifier.environment_mode",
		"environment = 3":                                                   "environment",
		"[agent":                                                            "line 1",
	} {
		_, err := parse("d/task.toml", text)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "d/task.toml") {
			t.Errorf("%s: %v; want a usage fault with the file and %s", text, err, want)
		}
	}
}

func TestTheCanaryOfAnInstructionIsRemoved(t *testing.T) {
	for text, want := range map[string]string{
		"<!-- harbor-canary GUID 1 -->\n\nDo it.\n":                                 "Do it.\n",
		"# BENCHMARK DATA: terminal-bench-canary GUID 1\n# canary 2\n\n\n# Title\n": "# Title\n",
		"# Title\n<!-- canary -->\n":                                                "# Title\n<!-- canary -->\n",
		"\nDo it about a canary.":                                                   "\nDo it about a canary.",
		"# canary":                                                                  "",
		"":                                                                          "",
	} {
		if got := withoutCanary(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	host := func(name string) (string, bool) {
		v, ok := map[string]string{"KEY": "secret", "EMPTY": ""}[name]
		return v, ok
	}
	list, missing := Resolve(map[string]string{
		"A": "plain $HOME", "B": "${KEY}", "C": "x${KEY:-no}y", "D": "${OTHER:-default}", "E": "${OTHER}", "F": "${EMPTY:-full}", "G": "${OTHER}${THIRD}", "H": "${EMPTY}",
	}, host)
	if diff := cmp.Diff([]string{"A=plain $HOME", "B=secret", "C=xsecrety", "D=default", "E=", "F=full", "G=", "H="}, list); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"EMPTY", "OTHER", "THIRD"}, missing); diff != "" {
		t.Error(diff)
	}
}

// folder writes a task's files below dir/name.
func folder(t *testing.T, dir, name string, files map[string]string) string {
	t.Helper()
	at := filepath.Join(dir, name)
	for file, text := range files {
		path := filepath.Join(at, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

func whole() map[string]string {
	return map[string]string{
		"task.toml": "", "instruction.md": "Do it.\n", "tests/test.sh": "#!/bin/bash\n",
		"environment/Dockerfile": "FROM scratch\n",
	}
}

func TestFilesThatATaskNeeds(t *testing.T) {
	for what, c := range map[string]struct {
		change func(map[string]string)
		want   string
	}{
		"whole":         {func(map[string]string) {}, ""},
		"no test.sh":    {func(f map[string]string) { delete(f, "tests/test.sh"); f["tests/a"] = "" }, "tests/test.sh: it is missing"},
		"no Dockerfile": {func(f map[string]string) { delete(f, "environment/Dockerfile") }, "environment/Dockerfile: it is missing"},
		"an image": {func(f map[string]string) {
			delete(f, "environment/Dockerfile")
			f["task.toml"] = "[environment]\ndocker_image='a'"
		}, ""},
		"compose":         {func(f map[string]string) { f["environment/docker-compose.yaml"] = "" }, "environment/docker-compose.yaml: several"},
		"steps":           {func(f map[string]string) { f["steps/a/instruction.md"] = "" }, "steps: tasks of several steps"},
		"a conversation":  {func(f map[string]string) { f["trajectory.json"] = "{}" }, "trajectory.json: continuing"},
		"CR LF":           {func(f map[string]string) { f["tests/test.sh"] = "#!/bin/bash\r\ntrue\r\n" }, "tests/test.sh: its lines end in CR LF"},
		"LFS in tests":    {func(f map[string]string) { f["tests/data/a"] = lfsPointer + "/spec/v1\noid" }, "tests/data/a: it is a Git LFS pointer"},
		"CR LF elsewhere": {func(f map[string]string) { f["tests/data"] = "a\r\nb\r\n" }, ""},
	} {
		t.Run(what, func(t *testing.T) {
			files := whole()
			c.change(files)
			got, err := Read(folder(t, t.TempDir(), "task", files))
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(got.Refused, "\n"); c.want == "" && all != "" || !strings.HasPrefix(all, c.want) {
				t.Errorf("refused %q, want %q", all, c.want)
			}
		})
	}
}

func TestATaskKnowsItsContent(t *testing.T) {
	dir := t.TempDir()
	read := func() *Task {
		got, err := Read(filepath.Join(dir, "The Task!"))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	files := whole()
	files["environment/data"] = "1"
	folder(t, dir, "The Task!", files)
	first := read()
	if first.ID() != "The Task!" || first.ImageName() != BuiltPrefix+"the-task:"+first.BuildDigest[:16] || len(first.Digest) != 64 {
		t.Errorf("id %q, image %q, digest %q", first.ID(), first.ImageName(), first.Digest)
	}
	folder(t, dir, "The Task!", map[string]string{"tests/more": "1"})
	second := read()
	if second.Digest == first.Digest || second.BuildDigest != first.BuildDigest {
		t.Error("a new test must change the task's digest and not that of its image")
	}
	if err := os.Chmod(filepath.Join(dir, "The Task!", "environment/data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if third := read(); third.BuildDigest == second.BuildDigest {
		t.Error("an executable file must change the digest of the image")
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	folder(t, dir, "b", whole())
	folder(t, dir, "a[1]", map[string]string{"task.toml": "", "steps/x": ""})
	other := folder(t, dir, "other", map[string]string{"task.toml": ""})
	tasks, foreign, err := Find(dir)
	if want := []string{filepath.Join(dir, "a[1]"), filepath.Join(dir, "b")}; err != nil || !slices.Equal(tasks, want) {
		t.Errorf("tasks %q, %v; want %q", tasks, err, want)
	}
	if want := []string{filepath.Join(other, File)}; !slices.Equal(foreign, want) {
		t.Errorf("foreign %q, want %q", foreign, want)
	}
	if one, _, err := Find(filepath.Join(dir, "a[1]")); err != nil || !slices.Equal(one, []string{filepath.Join(dir, "a[1]")}) {
		t.Errorf("a single folder: %q, %v", one, err)
	}
	if _, err := Read(other); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "another tool") {
		t.Errorf("reading a task.toml of another tool: %v", err)
	}
}

// Any text is a task or a Usage fault that names the file.
func FuzzParse(f *testing.F) {
	for _, e := range examples {
		f.Add(e.text)
	}
	f.Add("a = [[1], [{b = 2}], {c = 3}]")
	f.Fuzz(func(t *testing.T, text string) {
		task, err := parse("here/task.toml", text)
		if err != nil {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "here/task.toml") {
				t.Errorf("%v: want a usage fault that names the file", err)
			}
			return
		}
		if task.Network != Public && task.Network != NoNetwork && len(task.Refused) == 0 || task.VerifierLimit <= 0 || task.BuildLimit <= 0 ||
			task.AgentLimit < 0 || task.Memory < 0 || task.Storage < 0 || !(task.CPUs >= 0) {
			t.Errorf("%+v", task)
		}
	})
}

func TestAVerifierMayHaveAnEnvironmentOfItsOwn(t *testing.T) {
	const text = `
artifacts = ["/app/out", {source = "/data", exclude = ["*.tmp"], service = "main"}]
[agent]
network_mode = "no-network"
[environment]
docker_image = "agents"
cpus = 2
[verifier]
environment_mode = "separate"
[verifier.environment]
workdir = "/v"
memory_mb = 1
network_mode = "no-network"
[[verifier.collect]]
command = "dump"
`
	got := parsed(t, text)
	if got.Image != "agents" || len(got.Refused)+len(got.Unknown) > 0 || got.Network != NoNetwork {
		t.Errorf("%+v", got)
	}
	want := &Task{Context: "tests", WorkDir: "/v", Memory: 1 << 20, BuildLimit: defaultBuild, Network: NoNetwork}
	if diff := cmp.Diff(want, got.Separate); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Hook{{Command: "dump", Limit: time.Minute}}, got.Collect); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Artifact{{Source: "/app/out"}, {Source: "/data", Exclude: []string{"*.tmp"}}}, got.Artifacts); diff != "" {
		t.Error(diff)
	}
	files := whole()
	files["task.toml"] = "[verifier]\nenvironment_mode = \"separate\"\n"
	dir := folder(t, t.TempDir(), "task", files)
	same, err := Read(dir)
	if err != nil || same.Separate.ImageName() != same.ImageName() {
		t.Errorf("without tests/Dockerfile: %+v, %v; want another container of the agent's image", same.Separate, err)
	}
	folder(t, filepath.Dir(dir), "task", map[string]string{"tests/Dockerfile": "FROM scratch\n"})
	other, err := Read(dir)
	if err != nil || other.Separate.ImageName() == other.ImageName() || other.Separate.BuildFolder() != filepath.Join(dir, "tests") {
		t.Errorf("with tests/Dockerfile: %+v, %v; want an image of its own", other.Separate, err)
	}
}

func TestARegistryListsDatasetsOfACheckout(t *testing.T) {
	dir := t.TempDir()
	folder(t, dir, "tasks/a", whole())
	folder(t, dir, "tasks/b", whole())
	file := filepath.Join(dir, RegistryFile)
	const head, tail = `{"name": "set", "version": "1", "description": "d", "metrics": [], "tasks": [`, `]}`
	task := func(path string) string {
		return `{"name": "a", "git_url": "https://example.com/x.git", "git_commit_id": "c0ffee", "path": "` + path + `"}`
	}
	for _, c := range []struct {
		text, name, want string // want is a part of the error; empty: the folders a and b
	}{
		{`[` + head + task("tasks/a") + `,` + task("tasks/b") + tail + `]`, "", ""},
		{`[` + head + task("tasks/a") + `,` + task("tasks/b") + tail + `, {"name": "other", "version": "2"}]`, "set", ""},
		{`[` + head + task("tasks/a") + `,` + task("tasks/b") + tail + `, {"name": "set", "version": "2"}]`, "set@1", ""},
		{`[` + head + tail + `, {"name": "set", "version": "2"}]`, "set", "several datasets set: set@1 and set@2"},
		{`[` + head + tail + `, {"name": "other"}]`, "", "no dataset \"\"; it has set@1, other@"},
		{`[` + head + task("tasks/c") + tail + `]`, "", "task a is not at"},
		{`[` + head + task("../x") + tail + `]`, "", "expected one in the repository"},
		{`{}`, "", "reading " + file},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Registry(file, c.name)
		switch {
		case c.want != "":
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %q: %v, want %q", c.text, c.name, err, c.want)
			}
		case err != nil || !slices.Equal(got, []string{filepath.Join(dir, "tasks/a"), filepath.Join(dir, "tasks/b")}):
			t.Errorf("%s, %q: %q, %v", c.text, c.name, got, err)
		}
	}
}
