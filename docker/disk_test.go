package docker_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/vocab"
)

// diskEngine returns an engine that cannot keep a disk limit itself.
func diskEngine(t *testing.T) *docker.Engine {
	t.Helper()
	e := connect(t)
	testImage(t)
	able, known, err := e.LimitsDisk(t.Context())
	if err != nil || !known {
		t.Fatalf("known %v, %v", known, err)
	}
	if able {
		t.Skip("this engine has quotas")
	}
	return e
}

const fill = "head -c 200000000 /dev/zero >/big; sleep 60"

func TestAContainerThatFillsItsDiskIsStoppedAlone(t *testing.T) {
	t.Parallel()
	e := diskEngine(t)
	c, other := start(t, e, containers.Spec{Disk: 64 << 20}), start(t, e, containers.Spec{Disk: 64 << 20})
	ended := make(chan vocab.Output, 1)
	go func() {
		r, err := other.Run(t.Context(), containers.Command{Script: "head -c 30000000 /dev/zero >/small; sleep 20"})
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	for range 2 {
		r := runCommand(t, c, containers.Command{Script: "echo part; " + fill, Timeout: 50 * time.Second})
		if r.TimedOut || r.ExitCode != 137 || string(r.Bytes) != "part\n" || r.Disk == nil || !r.Disk.Killed || r.Disk.Left != 3 || r.Disk.Used <= r.Disk.Limit {
			t.Errorf("%+v, %+v, %q", r, r.Disk, r.Bytes)
		}
		if r := run(t, c, "rm /big"); r.Disk != nil || r.ExitCode != 0 {
			t.Errorf("it has made room: %+v, %+v", r, r.Disk)
		}
	}
	for range 5 {
		if r := run(t, c, "echo fine"); string(r.Bytes) != "fine\n" || r.Disk != nil {
			t.Errorf("%+v, %+v", r, r.Disk)
		}
	}
	if r := <-ended; r.ExitCode != 0 || r.Disk != nil {
		t.Errorf("the other container: %+v, %+v", r, r.Disk)
	}
}

// It may run a few commands to make room, and then none; what its owner runs to
// save its work is not refused.
func TestAContainerThatStaysAboveItsDiskLimitIsDestroyed(t *testing.T) {
	t.Parallel()
	e := diskEngine(t)
	for name, script := range map[string]string{
		"in a command":     fill,
		"between commands": "(" + fill + ") >/dev/null 2>&1 & exit 137",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, e, containers.Spec{Disk: 64 << 20})
			r := runCommand(t, c, containers.Command{Script: script, Timeout: 50 * time.Second})
			if r.ExitCode != 137 {
				t.Errorf("%+v", r)
			}
			if r.Disk == nil {
				time.Sleep(5 * time.Second)
				r = run(t, c, "true")
			}
			if r.Disk == nil || !r.Disk.Killed {
				t.Fatalf("not told: %+v, %+v", r, r.Disk)
			}
			for left := 2; left >= 0; left-- {
				if r := run(t, c, "echo kept >/work; echo here"); string(r.Bytes) != "here\n" || r.Disk == nil || r.Disk.Left != left || r.Disk.Killed {
					t.Errorf("%+v, %+v, want %d left", r, r.Disk, left)
				}
			}
			if _, err := c.Run(t.Context(), containers.Command{Script: "true"}); !errors.Is(err, vocab.ErrDestroyed) {
				t.Errorf("%v", err)
			}
			if r := run(t, c, "cat /work"); string(r.Bytes) != "kept\n" {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestAContainerThatGrowsOnAboveItsDiskLimitIsDestroyedAtOnce(t *testing.T) {
	t.Parallel()
	c := start(t, diskEngine(t), containers.Spec{Disk: 64 << 20})
	for n := range 2 {
		script := "head -c 200000000 /dev/zero >/big; sleep 60"
		if n > 0 {
			script = "head -c 200000000 /dev/zero >>/big; sleep 60"
		}
		r := runCommand(t, c, containers.Command{Script: script, Timeout: 50 * time.Second})
		if r.TimedOut || r.ExitCode != 137 || r.Disk == nil || !r.Disk.Killed || r.Disk.Left != 3*(1-n) {
			t.Errorf("%+v, %+v", r, r.Disk)
		}
	}
	if _, err := c.Run(t.Context(), containers.Command{Script: "true"}); !errors.Is(err, vocab.ErrDestroyed) {
		t.Errorf("%v", err)
	}
}

// An engine is asked for a quota, and not again once it has refused one.
func TestADiskLimitIsTheStorageDriversWhereItHasOne(t *testing.T) {
	for _, able := range []bool{true, false} {
		s := newEngineStub(t)
		var asked []string
		s.say("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
			var c container.CreateRequest
			if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
				t.Error(err)
			}
			s.keep(c)
			size := c.HostConfig.StorageOpt["size"]
			asked = append(asked, size)
			if size != "" && !able {
				answer(http.StatusInternalServerError, map[string]string{
					"message": "--storage-opt is supported only for overlay over xfs with 'pquota' mount option",
				})(w, r)
				return
			}
			answer(http.StatusCreated, map[string]string{"Id": stubBox})(w, r)
		})
		e := s.connect(t, time.Minute)
		for range 2 {
			c, err := e.Create(t.Context(), containers.Spec{Image: stubImage, Disk: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		}
		want := 2
		if !able {
			want = 3
		}
		if len(asked) != want || asked[0] != "1073741824" || (asked[1] == "") == able {
			t.Errorf("able %v: asked for %q", able, asked)
		}
	}
}
