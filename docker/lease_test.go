package docker_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

func TestContainersOfADeadProcessGoToTheHolderOfItsLease(t *testing.T) {
	t.Parallel()
	e := connect(t)
	dead := strings.Split(owner.Self().String(), "/")
	dead[4] = strconv.Itoa(1 << 30) // a process id that no system assigns
	lease := filepath.Join(t.TempDir(), "lease")
	if err := os.WriteFile(lease, []byte("somebody\n"+owner.Self().String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	left := func(lease string) string {
		made, err := raw(t).ContainerCreate(t.Context(), &container.Config{
			Image: testImage(t), Cmd: []string{"bash", "-c", "sleep 300"}, Labels: map[string]string{
				containers.LabelOwner: strings.Join(dead, "/"), engine.LabelLease: lease, engine.LabelInstance: "i",
			},
		}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = raw(t).ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true})
		})
		return made.ID
	}
	mine := left(lease)
	if err := raw(t).ContainerStart(t.Context(), mine, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	left(filepath.Join(t.TempDir(), "another"))
	ours := start(t, e, engine.Spec{Labels: map[string]string{engine.LabelLease: lease}}) // its owner is alive
	if _, err := engine.Reap(t.Context(), docker.Sandboxes{Engine: e}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	list, err := engine.Inherited(t.Context(), docker.Sandboxes{Engine: e}, lease)
	if err != nil || len(list) != 1 || list[0].ID != mine || list[0].Instance != "i" || list[0].Abandoned {
		t.Fatalf("inherited %+v, error %v; want only the container of the dead process", list, err)
	}
	leavings, err := engine.Leftovers(t.Context(), docker.Sandboxes{Engine: e}, lease)
	var ids []string
	for _, s := range leavings {
		ids = append(ids, s.ID)
	}
	if slices.Sort(ids); err != nil || !slices.Equal(ids, slices.Sorted(slices.Values([]string{mine, ours.ID()}))) {
		t.Errorf("left when no instance runs any more: %q, %v; want %q and %q", ids, err, mine, ours.ID())
	}
	if _, err := e.Attach(t.Context(), mine); fault.KindOf(err) != fault.Instance {
		t.Errorf("a container without boxinit: %v (%v)", err, fault.KindOf(err))
	}
	if err := e.Remove(t.Context(), mine); err != nil {
		t.Error(err)
	}
	if list, err := engine.Inherited(t.Context(), docker.Sandboxes{Engine: e}, lease); err != nil || len(list) != 0 {
		t.Errorf("inherited %+v, %v; want no list, no error", list, err)
	}
}
