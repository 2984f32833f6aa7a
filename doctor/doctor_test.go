package doctor

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/dataset/hub"
	"batch.example/batch/docker"
)

// A rootless engine whose user does not have the controllers of cgroup v2.
func TestDoctorReportsLimitsThatTheEngineLacks(t *testing.T) {
	for _, tt := range []struct {
		info, version string
		state         State
		want          string
	}{
		{`{"MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,"SwapLimit":true}`, `{}`, Good, "CPUs, memory, swap and processes"},
		{`{"MemoryLimit":true,"PidsLimit":true,"SwapLimit":true}`, `{}`, Warning, "the engine cannot limit CPUs: containers run without"},
		{`{}`, `{}`, Warning, "the engine cannot limit CPUs, memory, processes: containers run without"},
		{`{}`, `{"Components":[{"Name":"Podman Engine"}]}`, Good, "Podman"},
	} {
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("API-Version", "1.41")
			switch {
			case strings.HasSuffix(r.URL.Path, "/info"):
				_, _ = w.Write([]byte(tt.info))
			case strings.HasSuffix(r.URL.Path, "/version"):
				_, _ = w.Write([]byte(tt.version))
			case strings.HasSuffix(r.URL.Path, "/json"):
				_, _ = w.Write([]byte("[]"))
			}
		}))
		defer engine.Close()
		checks := Look(t.Context(), Config{
			Docker: docker.Config{Host: "tcp://" + engine.Listener.Addr().String()}, Hub: hub.Config{Offline: true},
			Dir: t.TempDir(), Getenv: func(string) string { return "" },
		})
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "limits" })
		if i < 0 || checks[i].State != tt.state || !strings.HasPrefix(checks[i].Text, tt.want) {
			t.Errorf("%s: want %s %q in %+v", tt.info, tt.state, tt.want, checks)
		}
	}
}
