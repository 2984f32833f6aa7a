package harbor

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/regular"
)

// Names in a task's folder.
const (
	File        = "task.toml"
	instruction = "instruction.md"
	environment = "environment"
	dockerfile  = "Dockerfile"
	stepsDir    = "steps"
	TestsDir    = "tests"
	TestScript  = "test.sh" // in TestsDir
	SolutionDir = "solution"
	SolveScript = "solve.sh" // in SolutionDir
)

// The folders of a container for what the agent and the verifier leave.
const (
	LogsAgent     = "/logs/agent"
	LogsVerifier  = "/logs/verifier"
	LogsArtifacts = "/logs/artifacts"
)

// Network modes. Allowlist is never a Task's: it is refused.
const (
	Public    = "public"
	NoNetwork = "no-network"
	allowlist = "allowlist"
)

// Where a verifier runs.
const (
	shared   = "shared"
	separate = "separate"
)

// The values of Harbor's documentation for keys that are missing.
const (
	defaultVerifier = 600 * time.Second
	defaultBuild    = 600 * time.Second
	defaultHook     = 60 * time.Second
)

// Task is a task folder. It must not be changed.
type Task struct {
	Name        string // [task].name, or the folder's name
	Dir         string // the folder
	Instruction string // of instruction.md, without a leading canary
	Digest      string // SHA-256 of the whole folder, in hexadecimal

	Image       string        // docker_image; empty: the image is built from Context
	Context     string        // the folder of the task that has the Dockerfile: environment or tests
	BuildDigest string        // SHA-256 of the folder Context, in hexadecimal
	BuildLimit  time.Duration // of the build

	WorkDir string            // absolute; empty: the image's
	Env     map[string]string // of all commands; the values may name variables of the host, see [Resolve]
	CPUs    float64           // 0: no limit
	Memory  int64             // bytes; 0: no limit
	Storage int64             // bytes; 0: no limit
	Network string            // [Public] or [NoNetwork]

	AgentLimit time.Duration // 0: none
	AgentUser  string        // name or number; empty: the image's

	VerifierLimit time.Duration
	VerifierUser  string            // as AgentUser
	VerifierEnv   map[string]string // as Env
	SolutionEnv   map[string]string // as Env
	Solvable      bool              // there is a solution/solve.sh

	// Separate is the environment of a verifier that has one of its own, as a task with only the fields of
	// the image and the container; nil: the verifier runs in the agent's container.
	Separate  *Task
	Collect   []Hook     // commands in the agent's container, before the artifacts are taken
	Artifacts []Artifact // what a separate verifier gets at the same paths, beside /logs/artifacts

	Refused []string // why the task is not run, each beginning with the file and key; nil: it is run
	Unknown []string // a sentence about each unknown key, with the nearest known one
}

// Hook is a command in the agent's container after the agent has ended.
type Hook struct {
	Command string
	User    string // as AgentUser
	Limit   time.Duration
}

// Artifact is a file or a folder of the agent's container.
type Artifact struct {
	Source  string   // absolute
	Exclude []string // patterns of what is left out, as tar reads them
}

// ID is the task's name as an instance_id, which is the name of a folder: org/name is org__name.
func (t *Task) ID() string { return strings.ReplaceAll(t.Name, "/", "__") }

// Built reports whether the image is built from the task's folder.
func (t *Task) Built() bool { return t.Image == "" }

// BuildFolder is the folder from which the image is built.
func (t *Task) BuildFolder() string { return filepath.Join(t.Dir, t.Context) }

// ImageName is the name of the task's image: its docker_image, or the name under which batch builds
// it, which the content of the folder environment determines.
func (t *Task) ImageName() string {
	if !t.Built() {
		return t.Image
	}
	slug := strings.Trim(notInImages().ReplaceAllString(strings.ToLower(t.ID()), "-"), "-._")
	return BuiltPrefix + cmp.Or(strings.Trim(slug[:min(len(slug), maxSlug)], "-._"), "task") + ":" + t.BuildDigest[:16]
}

// BuiltPrefix begins the names of the images that batch builds. No registry has them.
const BuiltPrefix = "batch-task/"

// maxSlug is how many bytes of a task's name the name of its image has.
const maxSlug = 60

var notInImages = lazy.Regexp(`[^a-z0-9]+`)

// file is task.toml as far as batch does what it says.
type file struct {
	SchemaVersion string     `toml:"schema_version"`
	Version       string     `toml:"version"`
	Artifacts     []artifact `toml:"artifacts"`
	Task          struct {
		Name string `toml:"name"`
	} `toml:"task"`
	Agent struct {
		Timeout seconds `toml:"timeout_sec"`
		User    user    `toml:"user"`
		Network string  `toml:"network_mode"`
	} `toml:"agent"`
	Verifier struct {
		Timeout     seconds           `toml:"timeout_sec"`
		Env         map[string]string `toml:"env"`
		User        user              `toml:"user"`
		Network     string            `toml:"network_mode"`
		Mode        string            `toml:"environment_mode"`
		Environment container         `toml:"environment"`
		Collect     []hook            `toml:"collect"`
	} `toml:"verifier"`
	Environment container `toml:"environment"`
	Solution    struct {
		Env map[string]string `toml:"env"`
	} `toml:"solution"`
}

// container is the table of an environment.
type container struct {
	BuildTimeout  seconds           `toml:"build_timeout_sec"`
	Image         string            `toml:"docker_image"`
	OS            string            `toml:"os"`
	CPUs          amount            `toml:"cpus"`
	MemoryMB      amount            `toml:"memory_mb"`
	StorageMB     amount            `toml:"storage_mb"`
	Memory        size              `toml:"memory"`
	Storage       size              `toml:"storage"`
	Env           map[string]string `toml:"env"`
	WorkDir       string            `toml:"workdir"`
	Network       string            `toml:"network_mode"`
	AllowInternet *bool             `toml:"allow_internet"`
}

// hook is an item of verifier.collect.
type hook struct {
	Command string  `toml:"command"`
	Service string  `toml:"service"`
	Timeout seconds `toml:"timeout_sec"`
	User    user    `toml:"user"`
}

// artifact is an item of artifacts: a path, or a table.
type artifact struct {
	Artifact
	service string
}

// UnmarshalTOML implements [toml.Unmarshaler].
func (a *artifact) UnmarshalTOML(v any) error {
	table, ok := v.(map[string]any)
	if !ok {
		table = map[string]any{"source": v}
	}
	a.Source, _ = table["source"].(string)
	a.service, _ = table["service"].(string)
	if !path.IsAbs(a.Source) || path.Clean(a.Source) == "/" {
		return fmt.Errorf("artifacts: %v: expected an absolute path, or a table with one as source", v)
	}
	list, _ := table["exclude"].([]any)
	for _, pattern := range list {
		text, ok := pattern.(string)
		if !ok {
			return fmt.Errorf("artifacts: exclude: %v: expected a pattern", pattern)
		}
		a.Exclude = append(a.Exclude, text)
	}
	return nil
}

// seconds is a time limit, which must be above 0.
type seconds time.Duration

// UnmarshalTOML implements [toml.Unmarshaler].
func (s *seconds) UnmarshalTOML(v any) error {
	n, ok := number(v)
	if !ok || !(n > 0) || n > math.MaxInt32 {
		return fmt.Errorf("%v: expected a number of seconds above 0", v)
	}
	*s = seconds(n * float64(time.Second))
	return nil
}

// amount is a number of things or of MiB, 0 or more.
type amount float64

// UnmarshalTOML implements [toml.Unmarshaler].
func (a *amount) UnmarshalTOML(v any) error {
	n, ok := number(v)
	if !ok || !(n >= 0) || n > math.MaxInt32 {
		return fmt.Errorf("%v: expected a number, 0 or more", v)
	}
	*a = amount(n)
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// size is a number of bytes, written as 512K, 4G or 1.5G, with units of 1,024.
type size int64

var sizeForm = lazy.Regexp(`^(\d+(?:\.\d+)?)([KMG])B?$`)

// UnmarshalTOML implements [toml.Unmarshaler].
func (s *size) UnmarshalTOML(v any) error {
	text, _ := v.(string)
	m := sizeForm().FindStringSubmatch(strings.ToUpper(strings.TrimSpace(text)))
	if m == nil {
		return fmt.Errorf("%v: expected a text such as \"512M\" or \"4G\"", v)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	unit := map[string]float64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[m[2]]
	if err != nil || n*unit > 1<<50 {
		return fmt.Errorf("%v: more than any machine has", v)
	}
	*s = size(n * unit)
	return nil
}

// user is the name or number of a user.
type user string

// UnmarshalTOML implements [toml.Unmarshaler].
func (u *user) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case int64:
		*u = user(strconv.FormatInt(v, 10))
	case string:
		*u = user(v)
	default:
		return fmt.Errorf("%v: expected the name or the number of a user", v)
	}
	if !userForm().MatchString(string(*u)) {
		return fmt.Errorf("%q: expected the name or the number of a user", string(*u))
	}
	return nil
}

var userForm = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// parse reads the text of a task.toml. It needs no other file of the task.
func parse(where, text string) (*Task, error) {
	var keys map[string]any
	var f file
	_, err := toml.Decode(text, &keys)
	var md toml.MetaData
	if err == nil {
		md, err = toml.Decode(text, &f)
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "reading "+where, err).WithHint("task.toml is in Harbor's format: docs `batch help task-folders`")
	}
	t := f.Environment.task(environment)
	t.Name, t.AgentLimit, t.AgentUser = f.Task.Name, time.Duration(f.Agent.Timeout), string(f.Agent.User)
	t.VerifierEnv, t.VerifierUser, t.SolutionEnv = f.Verifier.Env, string(f.Verifier.User), f.Solution.Env
	t.VerifierLimit = cmp.Or(time.Duration(f.Verifier.Timeout), defaultVerifier)
	t.Refused, t.Unknown = sortKeys(keys)
	if md.IsDefined("verifier", "environment") {
		if f.Verifier.Mode == shared {
			return nil, fault.Newf(fault.Usage, "reading %s: verifier.environment_mode is shared, and there is a table verifier.environment", where)
		}
		t.Separate = f.Verifier.Environment.task(TestsDir)
	} else if f.Verifier.Mode == separate {
		t.Separate = f.Environment.task(TestsDir)
	}
	for _, a := range f.Artifacts {
		t.Artifacts = append(t.Artifacts, a.Artifact)
		t.ofMain("artifacts.service", a.service)
	}
	for _, h := range f.Verifier.Collect {
		t.Collect = append(t.Collect, Hook{h.Command, string(h.User), cmp.Or(time.Duration(h.Timeout), defaultHook)})
		t.ofMain("verifier.collect.service", h.Service)
	}
	if err := t.choose(where, &f, md.IsDefined("verifier", "environment")); err != nil {
		return nil, err
	}
	return t, nil
}

// task returns the image and the container of an environment.
func (c *container) task(context string) *Task {
	return &Task{
		Image: c.Image, Context: context, WorkDir: c.WorkDir, Env: c.Env, BuildLimit: cmp.Or(time.Duration(c.BuildTimeout), defaultBuild),
		CPUs:    float64(c.CPUs),
		Memory:  cmp.Or(int64(c.MemoryMB*(1<<20)), int64(c.Memory)),
		Storage: cmp.Or(int64(c.StorageMB*(1<<20)), int64(c.Storage)),
	}
}

// ofMain refuses what concerns another container than the agent's.
func (t *Task) ofMain(key, service string) {
	if service != "" && service != "main" {
		t.refuse(key, "several containers are not supported")
	}
}

func (t *Task) refuse(key, why string) {
	t.Refused = append(t.Refused, File+": "+key+": "+why)
}

// choose checks the keys whose values are words. Own means that there is a table verifier.environment.
func (t *Task) choose(where string, f *file, own bool) error {
	wrong := func(key, value, want string) error {
		return fault.Newf(fault.Usage, "reading %s: %s is %q, expected %s", where, key, value, want)
	}
	if v := cmp.Or(f.SchemaVersion, f.Version); f.SchemaVersion != "" && !strings.HasPrefix(v, "1.") {
		t.refuse("schema_version", fmt.Sprintf("%q is not known: 1.0 to 1.4 are", v))
	}
	mode := cmp.Or(f.Verifier.Mode, shared)
	if mode != shared && mode != separate {
		return wrong("verifier.environment_mode", mode, "shared or separate")
	}
	var networks []string
	for _, e := range []struct {
		key string
		*container
	}{{"environment", &f.Environment}, {"verifier.environment", &f.Verifier.Environment}} {
		if e.WorkDir != "" && !path.IsAbs(e.WorkDir) {
			return wrong(e.key+".workdir", e.WorkDir, "an absolute path")
		}
		switch e.OS {
		case "", "linux":
		case "windows":
			t.refuse(e.key+".os", "Windows containers are not supported")
		default:
			return wrong(e.key+".os", e.OS, "linux or windows")
		}
		network := Public
		if e.AllowInternet != nil && !*e.AllowInternet {
			network = NoNetwork
		}
		networks = append(networks, cmp.Or(e.Network, network))
	}
	for _, n := range []struct{ key, value string }{
		{"environment.network_mode", f.Environment.Network},
		{"verifier.environment.network_mode", f.Verifier.Environment.Network},
		{"agent.network_mode", f.Agent.Network},
		{"verifier.network_mode", f.Verifier.Network},
	} {
		switch n.value {
		case "", Public, NoNetwork:
		case allowlist:
			t.refuse(n.key, hostsWhy)
		default:
			return wrong(n.key, n.value, "public, no-network or allowlist")
		}
	}
	t.Network = cmp.Or(f.Agent.Network, networks[0])
	verifier := cmp.Or(f.Verifier.Network, networks[0])
	if t.Separate != nil {
		if own {
			verifier = cmp.Or(f.Verifier.Network, networks[1])
		}
		t.Separate.Network = verifier
	} else if t.Network != verifier && t.Network != allowlist && verifier != allowlist {
		t.refuse("verifier.network_mode", fmt.Sprintf("%s for the agent and %s for the verifier: a network that changes is not supported", t.Network, verifier))
	}
	return nil
}

// Read reads the task in a folder. Errors are Usage faults that name the file, and the key if there
// is one.
func Read(dir string) (*Task, error) {
	where := filepath.Join(dir, File)
	text, err := regular.ReadFile(where)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading a task", err)
	}
	if !isTask(dir) {
		return nil, notATask(where)
	}
	t, err := parse(where, string(text))
	if err != nil {
		return nil, err
	}
	t.Dir = dir
	if t.Name == "" {
		t.Name = filepath.Base(dir)
	}
	return t, t.readFiles()
}

// notATask says that a task.toml is another tool's.
func notATask(where string) error {
	return fault.Newf(fault.Usage, "reading %s: it is of another tool: a task has %s or %s/ beside it", where, instruction, stepsDir).
		WithHint("name the folder of the tasks")
}

// isTask reports whether a folder has the files of a task, besides its settings.
func isTask(dir string) bool {
	for _, name := range []string{instruction, stepsDir} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// Find returns the task folders in dir: dir itself, or else folders in it, sorted. Foreign has the
// files named task.toml of other tools.
func Find(dir string) (tasks, foreign []string, err error) {
	for _, pattern := range []string{File, filepath.Join("*", File)} {
		files, err := globIn(dir, pattern)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			if folder := filepath.Dir(f); isTask(folder) {
				tasks = append(tasks, folder)
			} else {
				foreign = append(foreign, f)
			}
		}
		if len(tasks) > 0 {
			break
		}
	}
	return tasks, foreign, nil
}

// globIn is filepath.Glob in a folder whose name is not a pattern.
func globIn(dir, pattern string) ([]string, error) {
	matches, err := filepath.Glob(filepath.Join(literal.Replace(dir), pattern))
	return matches, err
}

var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// withoutCanary removes the comments with a canary at the beginning of an instruction, which are for those
// who collect training data, and the blank lines after them.
func withoutCanary(text string) string {
	rest, found := text, false
	for {
		line, after, more := strings.Cut(rest, "\n")
		trimmed := strings.TrimSpace(line)
		comment := strings.HasPrefix(trimmed, "<!--") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "//")
		switch {
		case comment && strings.Contains(strings.ToLower(trimmed), "canary"):
			found = true
		case trimmed == "" && found:
		default:
			return rest
		}
		if !more {
			return ""
		}
		rest = after
	}
}

// variable is ${NAME} or ${NAME:-default}.
var variable = lazy.Regexp(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// Resolve returns variables as NAME=value, sorted, with the variables of the host that their values
// name. Host returns one, and whether the user has allowed it. One that is not allowed, or empty, has
// its default; missing are the names of those without a default, sorted.
func Resolve(env map[string]string, host func(name string) (value string, allowed bool)) (list, missing []string) {
	for name, value := range env {
		value = variable().ReplaceAllStringFunc(value, func(text string) string {
			m := variable().FindStringSubmatch(text)
			if v, allowed := host(m[1]); allowed && v != "" {
				return v
			}
			if m[2] == "" {
				missing = append(missing, m[1])
			}
			return strings.TrimPrefix(m[2], ":-")
		})
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	slices.Sort(missing)
	return list, slices.Compact(missing)
}
