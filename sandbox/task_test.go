package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset/harbor"
	"batch.example/batch/sandbox/engine"
)

func TestATaskChangesTheContainerUnlessTheUserSaysOtherwise(t *testing.T) {
	task := &harbor.Task{
		WorkDir: "/work", Env: map[string]string{"KEY": "${HOST}", "B": "${NO:-b}"}, CPUs: 8, Memory: 1 << 30, Storage: 10 << 30, Network: harbor.Public,
	}
	c := Config{
		Container: engine.Spec{WorkDir: "/testbed", Network: "none", CPUs: 4, Memory: 8 << 30, MemorySwap: -1, Env: []string{"A=a"}},
		Tasks:     Tasks{Host: func(name string) (string, bool) { return "value of " + name, name == "HOST" }},
	}
	on := &site{}
	on.about.CPUs = 2
	spec := c.Container
	c.ofTask(&spec, task, on)
	env := []string{"A=a", "B=b", "KEY=value of HOST"}
	if diff := cmp.Diff(engine.Spec{WorkDir: "/work", Network: engine.Bridge, CPUs: 2, Memory: 1 << 30, Disk: 10 << 30, Env: env}, spec); diff != "" {
		t.Errorf("the task's word:\n%s", diff)
	}
	c.Tasks.Network, c.Tasks.Memory, c.Tasks.CPUs, c.Tasks.Disk = true, true, true, true
	spec = c.Container
	c.ofTask(&spec, task, on)
	if diff := cmp.Diff(engine.Spec{WorkDir: "/work", Network: "none", CPUs: 4, Memory: 8 << 30, MemorySwap: -1, Env: env}, spec); diff != "" {
		t.Errorf("the user's word:\n%s", diff)
	}
	if len(c.Container.Env) != 1 {
		t.Error("the configuration's own variables were changed")
	}
}
