package kube

import (
	"errors"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/kubetest"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
	"batch.example/batch/vocab"
)

// start makes a pod that is removed at the end of the test.
func start(t testing.TB, f *fleet, s engine.Spec) engine.Container {
	t.Helper()
	if s.Image == "" {
		s.Image = testImage(t)
	}
	if s.Unattended == 0 {
		s.Unattended = 5 * time.Minute
	}
	s.Env = append(s.Env, "PATH=/usr/bin:/bin")
	return conformance.Create(t, f, s)
}

var says = conformance.Says

func TestAPodWithoutANetworkReachesNothing(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	f := open(t, "default")
	const dial = "r=$( (echo >/dev/tcp/$TARGET/1) 2>&1); echo \"${r##*: }\""
	target := "TARGET=" + kubetest.Host(t)
	says(t, start(t, f, engine.Spec{Env: []string{target}}), dial, "Network is unreachable\n")
	says(t, start(t, f, engine.Spec{Env: []string{target}, Network: engine.Bridge}), dial, "Connection refused\n")
	says(t, start(t, f, engine.Spec{}), "echo ${!KUBERNETES_*}${!BATCH_*}; [ -e /var/run/secrets ]; echo $?", "\n1\n")
}

// The test's cluster has no network plugin that enforces policies, as many clusters.
func TestAClusterThatDoesNotEnforcePoliciesIsRefused(t *testing.T) {
	image := testImage(t)
	t.Parallel()
	f := asUser(t, "baseline") // which refuses NET_ADMIN
	_, err := f.Create(t.Context(), engine.Spec{Image: image, Unattended: time.Minute})
	if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "it reached") {
		t.Errorf("got %v, want a Host fault", err)
	}
	says(t, start(t, f, engine.Spec{Network: engine.Bridge}), "echo on", "on\n")
	if left, err := f.Owned(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("%d pods, %v; want 1", len(left), err)
	}
}

func TestTheHelperKillsTheLargestProcessBeforeThePodRunsOutOfMemory(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	c := start(t, open(t, "default"), engine.Spec{Memory: 200 << 20})
	says(t, c, "echo work >/testbed/file", "")
	r, err := c.Run(t.Context(), box.Command{Script: "x=$(yes | head -c 300000000); echo no", Timeout: time.Minute})
	if err != nil || r.ExitCode != 137 || !r.OOM || r.Restarted {
		t.Errorf("exit code %d, out of memory %v, restarted %v, %v", r.ExitCode, r.OOM, r.Restarted, err)
	}
	says(t, c, "cat /testbed/file", "work\n")
}

// The node looks at the files of its pods every ten seconds.
func TestAPodAboveItsDiskLimitIsTheAttemptsEnd(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	c := start(t, open(t, "default"), engine.Spec{Disk: 20 << 20})
	_, err := c.Run(t.Context(), box.Command{Script: "head -c 100M /dev/zero >/testbed/file; sleep 600"})
	if !errors.Is(err, vocab.ErrDestroyed) || !strings.Contains(err.Error(), "ephemeral") {
		t.Errorf("got %v, want that its files exceeded their limit, in the node's words", err)
	}
	t.Log(err)
}

func TestRefusalsHaveTheClustersWords(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	f := open(t, "default")
	for name, tt := range map[string]struct {
		spec engine.Spec
		kind fault.Kind
		says string
	}{
		"an absent image":  {engine.Spec{Image: "nosuch.example/x:1"}, fault.Instance, "ErrImageNeverPull"},
		"an invalid image": {engine.Spec{Image: "NOT VALID"}, fault.Instance, "InvalidImageName"},
		"a security opt":   {engine.Spec{Image: "x", SecurityOpt: []string{"seccomp=x"}}, fault.Usage, "--security-opt"},
		"a mount":          {engine.Spec{Image: "x", Mounts: []engine.Mount{{Source: "/a", Target: "/b"}}}, fault.Usage, "no directories of this machine"},
		"read-only files":  {engine.Spec{Image: "x", ReadOnly: true}, fault.Usage, "--read-only"},
		"a user's name":    {engine.Spec{Image: "x", User: "joe"}, fault.Usage, "uid"},
		"a host":           {engine.Spec{Image: "x", ExtraHosts: []string{"alone"}}, fault.Usage, "name:address"},
	} {
		tt.spec.Unattended = time.Minute
		_, err := f.Create(t.Context(), tt.spec)
		if fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v (%v), want %v and %q", name, err, fault.KindOf(err), tt.kind, tt.says)
		}
	}
}

func TestUsersHostsAndSharedMemory(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	c := start(t, open(t, "default"), engine.Spec{
		User: "1234:5678", ExtraHosts: []string{"one:10.1.2.3", "two:10.1.2.3"}, ShmSize: 1 << 20, Env: []string{"MONEY=$(PATH) $5"},
	})
	says(t, c, `id -u; id -g; [[ $(</etc/hosts) == *one*two* ]]; echo $?; echo "$MONEY"; head -c 2M /dev/zero 2>/dev/null >/dev/shm/x; echo $?`, "1234\n5678\n0\n$(PATH) $5\n1\n")
}

// withRegistry connects to the tests' cluster, whose node pulls images from a registry on this
// machine.
func withRegistry(t *testing.T) (f *fleet, r *registrytest.Registry, prefix string) {
	t.Helper()
	c := Config{Files: []string{kubetest.Config(t)}}
	e, err := c.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	r = registrytest.Start(t, false)
	return e.(*fleet), r, kubetest.Registry(t, r.Host()) + "/"
}

// image returns an image with the suite's tools and a file that says which one it is.
func image(t *testing.T, said string) *registrytest.Image {
	t.Helper()
	root, err := enginetest.Root(strings.Fields(conformance.Tools), map[string]string{"testbed/which": said})
	if err != nil {
		t.Fatal(err)
	}
	return registrytest.NewImage(t, registrytest.PackLayer(root))
}

func TestPodsOfOneTagHaveOneImage(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	f, registry, prefix := withRegistry(t)
	registry.Push("tools:1", image(t, "first"))
	spec := engine.Spec{Image: prefix + "tools:1"}
	c := start(t, f, spec)
	says(t, c, "cat /testbed/which", "first")
	pull := c.(engine.Puller).PullTime()
	registry.Push("tools:1", image(t, "second"))
	f.extra = &template{ImagePullPolicy: "Always"} // as a node that has not pulled the tag yet
	says(t, start(t, f, spec), "cat /testbed/which", "first")
	f.extra = &template{}
	if again := start(t, f, spec).(engine.Puller).PullTime(); pull == 0 || again != 0 {
		t.Errorf("the image was pulled in %v, and in %v when it was there", pull, again)
	}
	if !strings.Contains(c.ImageID(), "@sha256:") {
		t.Errorf("the image is %q", c.ImageID())
	}
}

func TestAnImageThatTheRegistryLacksIsTheInstances(t *testing.T) {
	kubetest.Config(t)
	t.Parallel()
	f, registry, prefix := withRegistry(t)
	for name, tt := range map[string]struct {
		fault registrytest.Fault
		kind  fault.Kind
	}{
		"not found":    {nil, fault.Instance},
		"unauthorized": {registrytest.Refuse(401, "UNAUTHORIZED", "authentication required"), fault.Instance},
	} {
		registry.Break(tt.fault)
		_, err := f.Create(t.Context(), engine.Spec{Image: prefix + "absent:1", Unattended: time.Minute})
		if fault.KindOf(err) != tt.kind {
			t.Errorf("%s: got %v (%v), want %v", name, err, fault.KindOf(err), tt.kind)
		}
		t.Log(err)
	}
}
