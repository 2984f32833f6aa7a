package docker_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// everything is a container with each limit that an engine may not support.
var everything = engine.Spec{Image: stubImage, CPUs: 2, Memory: 1 << 30}

// A rootless engine without delegated controllers reports so, and refuses NanoCPUs.
func TestUnsupportedLimitsAreOmitted(t *testing.T) {
	able := map[string]any{"MemoryLimit": true, "SwapLimit": true, "CpuCfsQuota": true, "PidsLimit": true}
	for _, tt := range []struct {
		unable string
		warned string
		left   func(h *container.HostConfig) bool
	}{
		{"CpuCfsQuota", "without --cpus", func(h *container.HostConfig) bool { return h.NanoCPUs == 0 && h.Memory > 0 && *h.PidsLimit > 0 }},
		{"MemoryLimit", "without --memory", func(h *container.HostConfig) bool { return h.Memory == 0 && h.MemorySwap == 0 && h.NanoCPUs > 0 }},
		{"SwapLimit", "without --memory-swap", func(h *container.HostConfig) bool { return h.Memory > 0 && h.MemorySwap == -1 }},
		{"PidsLimit", "without --pids-limit", func(h *container.HostConfig) bool { return h.PidsLimit == nil && h.NanoCPUs > 0 }},
		{"", "", func(h *container.HostConfig) bool {
			return h.NanoCPUs == 2e9 && h.Memory == 1<<30 && h.MemorySwap == 1<<30 && *h.PidsLimit == 4096
		}},
	} {
		t.Run("not "+tt.unable, func(t *testing.T) {
			s := newEngineStub(t)
			info := map[string]any{"OSType": "linux", "Architecture": "x86_64"}
			for name, can := range able {
				info[name] = can
			}
			delete(info, tt.unable)
			s.say("GET /info", answer(http.StatusOK, info))
			refuseCPUs := tt.unable == "CpuCfsQuota"
			s.say("POST /containers/create", func(w http.ResponseWriter, r *http.Request) { s.createUnable(w, r, refuseCPUs) })
			told := &bytes.Buffer{}
			e := s.connect(t, time.Minute, logTo(told))
			for range 3 {
				if _, err := e.Create(t.Context(), everything); err != nil {
					t.Fatal(err)
				}
			}
			for _, made := range s.made {
				if !tt.left(made.HostConfig) {
					t.Errorf("the create request has %+v, want the unsupported limits omitted", made.HostConfig.Resources)
				}
			}
			want := 1
			if tt.unable == "" {
				want = 0
			}
			if n := strings.Count(told.String(), "level=WARN"); n != want || !strings.Contains(told.String(), tt.warned) {
				t.Errorf("warned %d times, want %v, %q:\n%s", n, want, tt.warned, told)
			}
		})
	}
}

func logTo(told *bytes.Buffer) func(*docker.Config) {
	return func(c *docker.Config) { c.Log = slog.New(slog.NewTextHandler(told, nil)) }
}

// createUnable is the create call of an engine that refuses NanoCPUs.
func (s *stub) createUnable(w http.ResponseWriter, r *http.Request, refuseCPUs bool) {
	var asked container.CreateRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err == nil && refuseCPUs && asked.HostConfig.NanoCPUs > 0 {
		answer(http.StatusBadRequest, map[string]string{
			"message": "NanoCPUs can not be set, as your kernel does not support CPU CFS scheduler or the cgroup is not mounted",
		})(w, r)
		return
	}
	s.keep(asked)
	answer(http.StatusCreated, map[string]string{"Id": stubBox})(w, r)
}

// On every machine with cgroup v2 Podman reports that it cannot limit CPUs, so only
// a refused start shows what it really cannot limit.
func TestRefusedLimitsAreOmitted(t *testing.T) {
	for _, refusal := range []string{
		"crun: the requested cgroup controller `cpu` is not available: OCI runtime error",
		"runc: error setting cgroup config for procHooks process: openat2 /sys/fs/cgroup/user.slice/x/cpu.max: no such file or directory",
		"NanoCPUs can not be set, as your kernel does not support CPU CFS scheduler or the cgroup is not mounted",
	} {
		t.Run(refusal[:12], func(t *testing.T) {
			s := newEngineStub(t)
			s.say("GET /info", answer(http.StatusOK, map[string]any{"MemoryLimit": true, "PidsLimit": true, "OSType": "linux", "Architecture": "x86_64"}))
			s.say("GET /version", answer(http.StatusOK, map[string]any{"Components": []any{map[string]string{"Name": "Podman Engine"}}}))
			s.say("POST /containers/*/start", func(w http.ResponseWriter, r *http.Request) {
				s.mu.Lock()
				last := s.made[len(s.made)-1]
				s.mu.Unlock()
				if last.HostConfig.NanoCPUs > 0 {
					answer(http.StatusInternalServerError, map[string]string{"message": refusal})(w, r)
					return
				}
				w.WriteHeader(http.StatusNoContent)
			})
			told := &bytes.Buffer{}
			e := s.connect(t, time.Minute, logTo(told))
			for range 2 {
				if _, err := e.Create(t.Context(), everything); err != nil {
					t.Fatal(err)
				}
			}
			var cpus []int64
			for _, made := range s.made {
				cpus = append(cpus, made.HostConfig.NanoCPUs)
			}
			if !slices.Equal(cpus, []int64{2e9, 0, 0}) {
				t.Errorf("asked for %v, want what was refused once, and then without", cpus)
			}
			if s.count("DELETE /containers/*") != 1 {
				t.Error("the container that could not start was not removed")
			}
			if n := strings.Count(told.String(), "level=WARN"); n != 1 || !strings.Contains(told.String(), "without --cpus") {
				t.Errorf("warned %d times, want 1, %q:\n%s", n, "without --cpus", told)
			}
		})
	}
}

func TestARefusalForAnotherReasonIsAFault(t *testing.T) {
	s := newEngineStub(t)
	s.say("POST /containers/*/start", answer(http.StatusInternalServerError, map[string]string{
		"message": "runc: openat2 /sys/fs/cgroup/x/memory.max: device or resource busy",
	}))
	if _, err := s.connect(t, time.Minute).Create(t.Context(), everything); fault.KindOf(err) != fault.Transient || s.count("POST /containers/create") != 1 {
		t.Errorf("got a fault of kind %v after %d tries: %v; want Transient after 1", fault.KindOf(err), s.count("POST /containers/create"), err)
	}
}

func TestInfoListsUnsupportedLimits(t *testing.T) {
	s := newEngineStub(t)
	s.say("GET /info", answer(http.StatusOK, map[string]any{"MemoryLimit": true, "SwapLimit": true, "PidsLimit": false}))
	info, err := s.connect(t, time.Minute).About(t.Context())
	if err != nil || !slices.Equal(info.Unlimited, []string{"CPUs", "processes"}) {
		t.Errorf("got %q, %v; want unlimited %v, no error", info.Unlimited, err, []string{"CPUs", "processes"})
	}
}
