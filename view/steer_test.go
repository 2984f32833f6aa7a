package view

import (
	"strings"
	"testing"
)

// After a form, the browser stays on this server.
func TestAFormLeadsBack(t *testing.T) {
	for to, want := range map[string]string{
		"": "/live", "/x?y=1#step-2": "/x?y=1#step-2", "//evil.example": "/live", `/\evil.example`: "/live", "https://evil.example/x": "/live", "https:evil": "/live",
		"javascript:alert(1)": "/live", "evil": "/live", "/\tevil": "/live", "/%2Fevil.example": "/live", "\\\\evil.example": "/live", "/a\r\nX: 1": "/live",
		"http:///evil.example": "/live", "http:////evil.example": "/live", "///evil.example": "/live",
	} {
		at := back(to)
		if at != want && !(want == "/live" && strings.HasPrefix(at, "/") && !strings.HasPrefix(at, "//") && !strings.HasPrefix(at, `/\`)) {
			t.Errorf("%q leads to %q, want %q", to, at, want)
		}
	}
}
