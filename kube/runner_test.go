package kube

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"batch.example/batch/internal/kubetest"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// inPod returns the engine of a process that runs alone in a new pod.
func inPod(t *testing.T, space, name string) *fleet {
	t.Helper()
	f := open(t, space)
	var made corev1.Pod
	err := f.create(t.Context(), f.pods(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64), Containers: []corev1.Container{{
			Name: "batch", Image: "batch.example/pause:1", ImagePullPolicy: corev1.PullNever,
		}}},
	}, &made, false)
	if err != nil {
		t.Fatal(err)
	}
	f.runner = &runner{name: name, uid: made.UID, alone: true, holds: map[string]bool{}}
	f.me = owner.Owner{Host: name, Boot: "boot", Space: name, Pid: 1, Start: "1"}
	return f
}

// sees checks what a process knows about a pod.
func (f *fleet) sees(t *testing.T, when, id string, dead, abandoned bool) {
	t.Helper()
	all, err := f.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.ID == id {
			if o.Dead != dead || o.Abandoned != abandoned {
				t.Errorf("%s: dead %v, abandoned %v; want %v, %v", when, o.Dead, o.Abandoned, dead, abandoned)
			}
			return
		}
	}
	t.Errorf("%s: the pod is not listed", when)
}

func TestARunnerLivesAsLongAsItsPod(t *testing.T) {
	image := testImage(t)
	t.Parallel()
	outside := open(t, "default")
	space := namespace(t, outside.cluster, "privileged")
	outside = open(t, space)
	one, two, three := inPod(t, space, "one"), inPod(t, space, "two"), inPod(t, space, "three")
	const lease = "ID:/runs/one/.batch.lock"
	spec := engine.Spec{Image: image, Labels: map[string]string{engine.LabelLease: lease, engine.LabelInstance: "i"}}
	id := start(t, one, spec).ID()
	for name, f := range map[string]*fleet{"outside": outside, "another runner": two} {
		f.sees(t, name+", while the runner lives", id, false, false)
	}
	again := open(t, space)
	again.me, again.runner = owner.Owner{Host: "one", Boot: "boot", Space: "another", Pid: 1, Start: "2"}, one.runner
	again.sees(t, "the next container of the pod", id, true, false)
	again.runner = &runner{name: one.runner.name, uid: one.runner.uid}
	again.sees(t, "one of two containers of the pod", id, false, false)

	if err := one.remove(t.Context(), one.pods(), "one"); err != nil {
		t.Fatal(err)
	}
	outside.sees(t, "outside, when the runner is gone", id, true, true)
	two.sees(t, "another runner, when it is gone", id, true, false)
	for range 2 {
		c, err := two.Attach(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		says(t, c, "echo on", "on\n")
		c.Close()
	}
	two.sees(t, "the runner that took it over", id, true, false)
	outside.sees(t, "outside, when it was taken over", id, false, false)
	three.sees(t, "a third runner, when it was taken over", id, false, false)
	if _, err := three.Attach(t.Context(), id); !errors.Is(err, engine.ErrHeld) {
		t.Errorf("two runners attached to one pod: %v", err)
	}

	if err := two.remove(t.Context(), two.pods(), "two"); err != nil {
		t.Fatal(err)
	}
	outside.sees(t, "outside, while the one that was refused lives", id, false, false)
	three.release(t.Context()) // its pod lives on
	outside.sees(t, "outside, when all are gone or have ended their work", id, true, true)
	inPod(t, space, "one") // of the same name
	outside.sees(t, "outside, with another pod of that name", id, true, true)
}

// What a runner made goes with its Job.
func TestAJobsPodsGoWithIt(t *testing.T) {
	image := testImage(t)
	t.Parallel()
	admin := open(t, "default")
	space := namespace(t, admin.cluster, "privileged")
	f := inPod(t, space, "one")
	job := kubetest.Shown(t, "Job", space)
	job["spec"].(map[string]any)["suspend"] = true
	path := "/apis/batch/v1/namespaces/" + space + "/jobs"
	var made metav1.PartialObjectMetadata
	if err := json.Unmarshal(post(t, admin.cluster, path, job), &made); err != nil {
		t.Fatal(err)
	}
	f.runner.job = &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: made.Name, UID: made.UID}
	id := start(t, f, engine.Spec{Image: image}).ID()
	if err := f.remove(t.Context(), f.pods(), "one"); err != nil {
		t.Fatal(err)
	}
	open(t, space).sees(t, "outside, between two pods of the Job", id, true, false)
	asKubectl := metav1.DeletePropagationBackground // the API would leave them
	if err := f.core.Delete().AbsPath(path + "/" + made.Name).Body(&metav1.DeleteOptions{PropagationPolicy: &asKubectl}).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		all, err := f.Owned(t.Context())
		if err == nil && len(all) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("pod %s is left: %+v, %v", id, all, err)
		}
	}
}
