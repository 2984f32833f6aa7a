package docker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

func TestAWorkDirMustBeInTheImage(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	c, err := e.Create(t.Context(), engine.Spec{Image: testImage(t), WorkDir: "/no such/dir", Unattended: time.Minute})
	if err == nil {
		_ = c.Remove(context.Background())
	}
	if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "/no such/dir") ||
		!strings.Contains(err.Error(), testImage(t)) || !strings.Contains(fault.HintOf(err), "environment.cwd") {
		t.Errorf("got a fault of kind %v: %v; hint %q; want an Instance fault with %q, with %q, %q",
			fault.KindOf(err), err, fault.HintOf(err), "/no such/dir", testImage(t), "environment.cwd")
	}
	c = start(t, e, engine.Spec{WorkDir: "/testbed"})
	same, err := e.Attach(t.Context(), c.ID())
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, same, "pwd"); string(r.Bytes) != "/testbed\n" {
		t.Errorf("the working directory of an attached container is %q", r.Bytes)
	}
}

func TestCreateReportsInvalidSettings(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	for _, tt := range []struct {
		name string
		spec engine.Spec
		kind fault.Kind
		hint string
	}{
		{"a user that is not there", engine.Spec{User: "nope"}, fault.Instance, "--user"},
		{"a group that is not there", engine.Spec{User: "0:nope"}, fault.Instance, "--user"},
		{"too many CPUs", engine.Spec{CPUs: 100_000}, fault.Usage, "--cpus"},
		{"a capability that is none", engine.Spec{CapAdd: []string{"NOPE"}}, fault.Usage, "capabilit"},
		{"a network that is not there", engine.Spec{Network: "nosuch"}, fault.Usage, "docker network ls"},
		{"a platform that is none", engine.Spec{Platform: "x"}, fault.Usage, ""},
		{"too little memory", engine.Spec{Memory: 1}, fault.Usage, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Image, tt.spec.Unattended = testImage(t), time.Minute
			c, err := e.Create(t.Context(), tt.spec)
			if err == nil {
				_ = c.Remove(context.Background())
			}
			if fault.KindOf(err) != tt.kind || !strings.Contains(fault.HintOf(err), tt.hint) {
				t.Errorf("%v, want %v: %v; hint %q", fault.KindOf(err), tt.kind, err, fault.HintOf(err))
			}
		})
	}
}
