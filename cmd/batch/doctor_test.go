package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A rootless engine whose user was not given the controllers of cgroup v2.
func TestDoctorSaysWhatTheEngineCannotLimit(t *testing.T) {
	for _, tt := range []struct{ info, version, want string }{
		{`{"MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,"SwapLimit":true}`, `{}`, "ok    limits"},
		{`{"MemoryLimit":true,"PidsLimit":true,"SwapLimit":true}`, `{}`, "warn  limits  the engine cannot limit CPUs: containers run without"},
		{`{}`, `{}`, "warn  limits  the engine cannot limit CPUs, memory, processes: containers run without"},
		{`{}`, `{"Components":[{"Name":"Podman Engine"}]}`, "ok    limits  Podman"},
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
		env := map[string]string{"DOCKER_HOST": "tcp://" + engine.Listener.Addr().String(), "HF_HUB_OFFLINE": "1"}
		var out bytes.Buffer
		a := &app{getenv: func(name string) string { return env[name] }, stdout: &out, home: t.TempDir()}
		c := a.doctorCommand()
		c.SetContext(t.Context())
		if err := c.RunE(c, nil); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: want %q in\n%s%v", tt.info, tt.want, &out, err)
		}
	}
}

func TestDoctorSaysWhichProvidersCouldBeAsked(t *testing.T) {
	for want, env := range map[string]string{
		"warn  key     OPENAI_API_KEY is not set\n              export OPENAI_API_KEY=... for a real model; oracle, noop and scripted models need none\n": "",
		"ok    key     OPENAI_API_KEY is set, for api.openai.com\n":                                                                                       "OPENAI_API_KEY",
		"ok    key     none needed for http://localhost:1\n":                                                                                              "OPENAI_BASE_URL",
	} {
		var out bytes.Buffer
		a := &app{getenv: func(name string) string {
			switch name {
			case "DOCKER_HOST":
				return "unix:///nowhere"
			case "HF_HUB_OFFLINE":
				return "1"
			case env:
				return "http://localhost:1"
			}
			return ""
		}, stdout: &out, home: t.TempDir()}
		c := a.doctorCommand()
		c.SetContext(t.Context())
		_ = c.RunE(c, nil) // there is no engine
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, &out)
		}
	}
}
