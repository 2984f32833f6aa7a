package main

import (
	"bytes"
	"strings"
	"testing"

	"batch.example/batch/internal/mask"
	"batch.example/batch/llm/stub"
)

func TestDoctorSaysWhichProvidersCouldBeAsked(t *testing.T) {
	for want, env := range map[string]string{
		"warn  key     no key of a provider is set, such as OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY\n              export one for a real model: `export OPENAI_API_KEY=...`; oracle, noop and scripted models need none\n": "",
		"ok    key     OPENAI_API_KEY is set, for api.openai.com\n": "OPENAI_API_KEY",
		"ok    key     none needed for http://localhost:1\n":        "OPENAI_BASE_URL",
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
		}, stdout: &out, home: t.TempDir(), mask: mask.New()}
		c := a.doctorCommand()
		c.SetContext(t.Context())
		_ = c.RunE(c, nil) // there is no engine
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, &out)
		}
	}
}

func TestDoctorCallsTheModelThatIsNamed(t *testing.T) {
	const plantedKey = "sk-planted-0123456789abcdef"
	server := stub.NewServerFunc(t, func(n int, r *stub.Request) stub.Answer {
		if sees := strings.Contains(string(r.Body), "image_url"); sees != (n == 2) || len(r.Tools) != 1 && !sees {
			t.Errorf("%d tools in call %d, image %v, want bash alone, and an image in the second", len(r.Tools), n, sees)
		}
		if n > 2 {
			return stub.Refusal(401, "invalid_api_key", "Incorrect API key provided: "+plantedKey)
		}
		return stub.Answer{Content: "OK", Model: "stub-1-0825"}
	})
	for name, value := range map[string]string{
		"OPENAI_API_KEY": plantedKey, "OPENAI_BASE_URL": server.URL, "DOCKER_HOST": "unix:///nowhere", "HF_HUB_OFFLINE": "1",
	} {
		t.Setenv(name, value)
	}
	call := func(args ...string) (out string, code int) {
		var b bytes.Buffer
		code = program(append([]string{"doctor"}, args...), strings.NewReader(""), &b, &b)
		return b.String(), code
	}
	for _, tt := range []struct {
		want   string
		fails  string // the engine is one of the failed checks
		code   int
		called int
		args   []string
	}{
		{"ok    key     OPENAI_API_KEY is set", "1 check failed", exitFailed, 0, nil},
		{"ok    model   openai/stub-1 answered in ", "1 check failed", exitFailed, 2, []string{"-m", "openai/stub-1"}},
		{"FAIL  model   ", "2 checks failed", exitFailed, 3, []string{"-c", "model.model_name=openai/stub-1"}},
		{"ok    model   noop is part of batch", "1 check failed", exitFailed, 3, []string{"-m", "noop"}},
		{"model.multimodal_regex has no effect", "1 check failed", exitFailed, 3, []string{"-m", "noop", "-c", "model.multimodal_regex=x"}},
		{"agent.step_limit", "step_limt", exitUsage, 3, []string{"-c", "agent.step_limt=1"}},
	} {
		out, code := call(tt.args...)
		if code != tt.code || !strings.Contains(out, tt.want) || !strings.Contains(out, tt.fails) || strings.Contains(out, plantedKey) {
			t.Errorf("%q: exit code %d, want %q and %q in\n%s", tt.args, code, tt.want, tt.fails, out)
		}
		if n := len(server.Requests()); n != tt.called {
			t.Errorf("%q: %d calls, want %d", tt.args, n, tt.called)
		}
	}
}
