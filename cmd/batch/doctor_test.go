package main

import (
	"bytes"
	"strings"
	"testing"
)

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
