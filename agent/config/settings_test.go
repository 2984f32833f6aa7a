package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
)

// Each setting of a container, as an argument of docker run and as a key of batch.
func TestRunArguments(t *testing.T) {
	flags := func(c *Config) RunFlags { return c.Environment.Flags() }
	for args, got := range map[string]func(*Config) string{
		"-d=--memory=512m => 536870912":                             func(c *Config) string { return fmt.Sprint(flags(c).Memory) },
		"--memory-swap=-1 => -1":                                    func(c *Config) string { return fmt.Sprint(flags(c).MemorySwap) },
		"--memory-swap=1g => 1073741824":                            func(c *Config) string { return fmt.Sprint(flags(c).MemorySwap) },
		"--shm-size=64m => 67108864":                                func(c *Config) string { return fmt.Sprint(flags(c).ShmSize) },
		"--cpus=0.5 => 0.5":                                         func(c *Config) string { return fmt.Sprint(flags(c).CPUs) },
		"--cpus=1 => 1":                                             func(c *Config) string { return fmt.Sprint(flags(c).CPUs) },
		"--pids-limit=1 => 1":                                       func(c *Config) string { return fmt.Sprint(flags(c).Pids) },
		"--pids-limit=-1 => -1":                                     func(c *Config) string { return fmt.Sprint(flags(c).Pids) },
		"--platform=linux/arm64 => linux/arm64":                     func(c *Config) string { return flags(c).Platform },
		"--user=1000:1000 => 1000:1000":                             func(c *Config) string { return flags(c).User },
		"-e=A=b=c => map[A:b=c]":                                    func(c *Config) string { return fmt.Sprint(flags(c).Env) },
		"-e=A => [A]":                                               func(c *Config) string { return fmt.Sprint(flags(c).ForwardEnv) },
		"--cap-add=SYS_PTRACE => [SYS_PTRACE]":                      func(c *Config) string { return fmt.Sprint(flags(c).CapAdd) },
		"--cap-drop=ALL => [ALL]":                                   func(c *Config) string { return fmt.Sprint(flags(c).CapDrop) },
		"--add-host=a:10.0.0.1 => [a:10.0.0.1]":                     func(c *Config) string { return fmt.Sprint(flags(c).ExtraHosts) },
		"-v=/data/x/:/in:ro => [{/data/x /in}]":                     func(c *Config) string { return fmt.Sprint(flags(c).Mounts) },
		"--tmpfs=/run:size=64m => map[/run:size=64m]":               func(c *Config) string { return fmt.Sprint(flags(c).Tmpfs) },
		"--ulimit=nofile=10:20 => [nofile=10:20]":                   func(c *Config) string { return fmt.Sprint(flags(c).Ulimits) },
		"--read-only => true":                                       func(c *Config) string { return fmt.Sprint(flags(c).ReadOnly) },
		"--pull=never => never":                                     func(c *Config) string { return flags(c).Pull },
		"--security-opt=seccomp=unconfined => [seccomp=unconfined]": func(c *Config) string { return fmt.Sprint(flags(c).SecurityOpt) },
	} {
		arg, want, _ := strings.Cut(args, " => ")
		list := []string{strings.TrimPrefix(arg, "-d=")}
		if strings.HasPrefix(arg, "-d=") {
			list = []string{"-d", "--detach", "--rm", "--init", list[0]} // what batch always does
		}
		c, err := Load([]string{"environment.run_args=[" + `"` + strings.Join(list, `","`) + `"` + "]"}, Options{})
		if err != nil {
			t.Errorf("%s: got error %v", arg, err)
			continue
		}
		if g := got(c); g != want {
			t.Errorf("%s: %s, want %s", arg, g, want)
		}
	}
	for arg, want := range map[string]string{
		"--cpus=0": "above 0", "--cpus=-1": "above 0", "--cpus=+Inf": "above 0", "--cpus=-Inf": "above 0", "--cpus=NaN": "above 0", "--cpus=x": "invalid syntax",
		"-e==x": "needs a name", "--init=false": "batch always sets this flag", "--rm=false": "batch always sets this flag", "--pids-limit=x": "--pids-limit", "--memory=x": `--memory "x"`, "word": "expected a flag",
		"-v=/a:/b": "end it with :ro", "-v=/a:/b:rw": "end it with :ro", "-v=cache:/b:ro": "absolute path", "-v=/a:/:ro": "directory in the container", "-v=/a:/dev/batch:ro": "directory in the container",
		"-v=/a:/proc/x:ro": "directory in the container", `--tmpfs=/in", "-v=/a:/in/:ro`: "given twice",
		"--tmpfs=x": "directory in the container", "--ulimit=files=1": "--ulimit", "--pull=often": "expected always, missing or never", "--privileged": "does not know",
	} {
		if _, err := Load([]string{`environment.run_args=["` + arg + `"]`}, Options{}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}

func TestNumbersAreAcceptedAsTextWhereThatIsUsual(t *testing.T) {
	c, err := Load([]string{write(t, "f.yaml", "environment: {container_timeout: 90, memory: 1073741824}\n")}, Options{})
	if err != nil || c.Environment.Lifetime() != 90*time.Second || c.Environment.Flags().Memory != 1<<30 {
		t.Errorf("got %v, %v, %+v; want lifetime %v, memory %v, no error",
			err, c.Environment.Lifetime(), c.Environment.Flags(), 90*time.Second, 1<<30)
	}
	for text, want := range map[string]string{
		"agent: {system_template: 5}\n":                           "agent.system_template is 5, expected text",
		"agent: {step_limit: [1]}\n":                              "agent.step_limit is a list, expected a whole number",
		"agent: {step_limit: {a: 1}}\n":                           "is a mapping",
		"model: {requests_per_minute: -1}\n":                      "model.requests_per_minute is negative",
		"model: {tokens_per_minute: -1}\n":                        "model.tokens_per_minute is negative",
		"agent: {cost_limit: true}\n":                             "cost_limit is true, expected a number",
		"environment: {memory: lots}\n":                           `environment.memory is "lots", expected a size`,
		"environment: {memory: 1k}\n":                             `environment.memory is "1k", but Docker needs at least 6m`,
		"environment: {memory: '-1'}\n":                           `environment.memory is "-1", expected a size`,
		"environment: {run_args: [[a], {b: 1}]}\n":                "holds a list, expected text",
		"environment: {env: {A: [1], B: {c: d}}}\n":               "environment.env.A is a list, expected text",
		"agent: {step_limit: " + strings.Repeat("x", 100) + "}\n": `"` + strings.Repeat("x", 60) + `...", expected`,
	} {
		_, err := Load([]string{write(t, "f.yaml", text)}, Options{})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v\nwant %s", text, err, want)
		}
	}
}

func TestProblemsAreReportedInOrder(t *testing.T) {
	for range 10 {
		_, err := Load([]string{"agent.step_limit=-1", "agent.cost_limit=-1", "environment.timeout=-1", "environment.cpus=-1", "environment.pull_timeout=-1"}, Options{})
		if err == nil {
			t.Fatal("the configuration was accepted, want an error")
		}
		var at []int
		for _, key := range []string{"agent.cost_limit", "agent.step_limit", "environment.cpus", "environment.pull_timeout", "environment.timeout"} {
			at = append(at, strings.Index(err.Error(), key+" is negative"))
		}
		last := -1
		for _, i := range at {
			if i <= last {
				t.Fatalf("in disorder: %v, want more than %v", err, last)
			}
			last = i
		}
	}
	for _, spec := range []string{"agent.step_limit=0", "agent.cost_limit=0", "environment.timeout=0", "environment.memory=0"} {
		if _, err := Load([]string{spec}, Options{}); err != nil {
			t.Errorf("a limit of zero: got error %v", err)
		}
	}
}

func TestAKeyWithoutEffectIsReported(t *testing.T) {
	c, err := Load([]string{"model.multimodal_regex=x"}, Options{})
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "multimodal_regex has no effect") {
		t.Errorf("got %v, %q; want one warning that multimodal_regex has no effect", err, c.Warnings)
	}
	for class, told := range map[string]bool{"litellm": false, "litellm_textbased": false, "openrouter_textbased": false, "openrouter": true, "portkey": true} {
		c, err := Load([]string{"model.model_class=" + class}, Options{})
		if err != nil || len(c.Warnings) == 1 != told || told && !strings.Contains(c.Warnings[0], "model_class has no effect") {
			t.Errorf("%s: got %v, %q; want a warning: %v, with %q in it, no error",
				class, err, c.Warnings, told, "model_class has no effect")
		}
	}
}

// The bound keeps aliases from filling the memory, and is above any real configuration.
func TestTheDepthOfAFileIsBounded(t *testing.T) {
	nested := func(n int) string { return "run: {x: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "}\n" }
	for n, deep := range map[int]bool{maxDepth - 2: false, maxDepth - 1: true, 5 * maxDepth: true} {
		_, err := Load([]string{write(t, "f.yaml", nested(n))}, Options{})
		if told := err != nil && strings.Contains(err.Error(), "nested too deeply"); told != deep {
			t.Errorf("%d nested lists: got error %.200v", n, err)
		}
	}
}
