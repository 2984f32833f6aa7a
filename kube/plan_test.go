package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// variables returns the variables of a pod's task.
func variables(t *testing.T, s engine.Spec, template string) (map[string]string, *corev1.Pod) {
	t.Helper()
	extra, err := parseTemplate([]byte(template))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan{name: "x", spec: s, arch: "amd64", extra: extra}.pod()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, v := range p.Spec.Containers[0].Env {
		all[v.Name] = v.Value
	}
	return all, p
}

func TestKubernetesReplacesNothingInAVariable(t *testing.T) {
	vars, _ := variables(t, engine.Spec{Env: []string{"A=$$5 $(PATH) $x"}}, "")
	if want := "$$$$5 $$(PATH) $$x"; vars["A"] != want {
		t.Errorf("got %q, want %q", vars["A"], want)
	}
}

func TestTheHelperLearnsTheLimitOfTheTemplate(t *testing.T) {
	vars, pod := variables(t, engine.Spec{Memory: 4 << 30}, `{"resources": {"limits": {"memory": "1Gi"}}}`)
	if got := vars[wire.MemoryVariable]; got != "1073741824" {
		t.Errorf("limit %s", got)
	}
	if r := pod.Spec.Containers[0].Resources.Requests; !r.Memory().IsZero() {
		t.Errorf("it requests %v, above its limit", r.Memory())
	}
	if vars, _ := variables(t, engine.Spec{}, ""); vars[wire.MemoryVariable] != "" {
		t.Errorf("limit %s without one", vars[wire.MemoryVariable])
	}
}

func TestTheHelperMayComeFromAnImage(t *testing.T) {
	f := open(t, "default")
	t.Parallel()
	f.extra = &template{HelperImage: "registry.example/batch:1"}
	p, err := f.plan(t.Context(), engine.Spec{Image: "tools:1"})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := p.pod()
	if err != nil {
		t.Fatal(err)
	}
	var checked corev1.Pod
	if err := f.create(t.Context(), f.pods(), pod, &checked, true); err != nil {
		t.Fatal(err)
	}
	var images int
	for _, v := range checked.Spec.Volumes {
		if v.ConfigMap != nil {
			t.Errorf("it needs the ConfigMap %s too", v.ConfigMap.Name)
		}
		if v.Image != nil && v.Image.Reference == f.extra.HelperImage {
			images++
		}
	}
	if script := checked.Spec.InitContainers[0].Command[2]; images != 1 || !strings.Contains(script, "cat "+partsDir+library+"/"+partPrefix+p.arch+"-") {
		t.Errorf("%d volumes of the image, script %s", images, script)
	}
}

func TestTheFilesOfAProgramAreAnImageVolume(t *testing.T) {
	_, pod := variables(t, engine.Spec{Files: engine.Files{Image: "registry.example/agent:1"}}, `{"imagePullPolicy": "Never"}`)
	want := corev1.Volume{Name: filesName, VolumeSource: corev1.VolumeSource{
		Image: &corev1.ImageVolumeSource{Reference: "registry.example/agent:1", PullPolicy: corev1.PullNever},
	}}
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return reflect.DeepEqual(v, want) }) {
		t.Errorf("volumes %+v", pod.Spec.Volumes)
	}
	mount := corev1.VolumeMount{Name: filesName, MountPath: engine.FilesDir, ReadOnly: true}
	if got := pod.Spec.Containers[0].VolumeMounts; !slices.Contains(got, mount) {
		t.Errorf("mounts %+v", got)
	}
	if got := pod.Spec.InitContainers[0].VolumeMounts; slices.Contains(got, mount) {
		t.Errorf("the helper's mounts %+v", got)
	}
	if err := check(engine.Spec{Image: "x", Files: engine.Files{Folder: "/agent"}}); fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "name an image") {
		t.Errorf("a folder: %v", err)
	}
}

// A cluster that does not know image volumes leaves them out of the pod, as here, without an error.
func TestAClusterWithoutImageVolumesIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}, "spec": {"volumes": [{"name": "files", "emptyDir": {}}]}}`)
	}))
	defer server.Close()
	c, err := newCluster(&rest.Config{Host: server.URL}, "default", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := plan{name: "x", spec: engine.Spec{Files: engine.Files{Image: "registry.example/agent:1"}}, arch: "amd64", extra: &template{}}
	pod, err := p.pod()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&fleet{objects: objects{cluster: c}}).start(t.Context(), p, pod, "creating a pod", nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no image volumes") {
		t.Errorf("got %v, want a Usage fault", err)
	}
}

func TestAnyTextMakesTheValueOfALabel(t *testing.T) {
	valid := regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$`)
	for _, text := range []string{"", "a", "___", "\u65e5\u672c", "-a-", "django__django-11099", string(make([]byte, 200))} {
		if v := value(text); !valid.MatchString(v) {
			t.Errorf("%q: %q", text, v)
		}
	}
}

func TestAFullNodeIsNotTheTasksFault(t *testing.T) {
	limited := corev1.ResourceRequirements{Limits: corev1.ResourceList{
		corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"), corev1.ResourceMemory: resource.MustParse("1Gi"),
	}}
	evicted := func(m string) corev1.PodStatus { return corev1.PodStatus{Reason: "Evicted", Message: m} }
	killed := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: taskName, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
	}}}
	for _, tt := range []struct {
		status    corev1.PodStatus
		resources corev1.ResourceRequirements
		own       bool
	}{
		{evicted("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "), limited, true},
		{evicted(`Container task exceeded its local ephemeral storage limit "1Gi". `), limited, true},
		{evicted("The node was low on resource: ephemeral-storage. Threshold quantity: 1, available: 0. Container task was using 9Ki, request is 0, has larger consumption of ephemeral-storage. "), limited, false},
		{killed, limited, true},
		{killed, corev1.ResourceRequirements{}, false},
	} {
		p := &corev1.Pod{Status: tt.status, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: taskName, Resources: tt.resources}}}}
		if err := (&container{}).why(p, "x"); errors.Is(err, vocab.ErrDestroyed) != tt.own {
			t.Errorf("%+v: %v", tt.status, err)
		}
	}
}

func TestACallerThatHangsUpDoesNotLoseTheAPI(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	c, err := newCluster(&rest.Config{Host: server.URL}, "default", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	own := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, own)
	defer cancel()
	if err := c.blame(c.ping(ctx), "x"); !errors.Is(err, own) || errors.Is(err, engine.ErrOutage) || c.away.Load() {
		t.Errorf("got %v, away %v", err, c.away.Load())
	}
}

func TestAProbeTriesTheAPIAndAnAddressOutside(t *testing.T) {
	for host, want := range map[string]string{
		"https://10.1.2.3":        "1.1.1.1:443, 10.1.2.3:443",
		"https://[fd00::1]:6443":  "1.1.1.1:443, [fd00::1]:6443",
		"https://127.0.0.1:16443": "1.1.1.1:443", // the pod's own
	} {
		if got := reached(reachable(host)); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
