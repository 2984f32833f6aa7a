package config

import (
	"strings"
	"testing"
)

func TestAProgramsFilesAreAFolderOrAnImage(t *testing.T) {
	for files, want := range map[string]bool{
		"/opt/agent": true, "./agent": true, "../agent": true, ".": true, "..": true, "./a b": true, "/": true,
		"": false, "agent": false, "agent:1": false, "registry.example/agent@sha256:0": false, ".agent/x": false, "agents/own": false,
	} {
		if got := (&ProgramConfig{Files: files}).FilesFolder(); got != want {
			t.Errorf("%q: a folder: %t", files, got)
		}
	}
}

func TestAProgramWithFilesIsChecked(t *testing.T) {
	const program = "agent.program.command=[\"{{ files }}/agent\"]"
	for files, want := range map[string]string{
		"./own": "", "own:1": "", "~/own": `agent.program.files is "~/own", expected a folder`, "own agent": "expected a folder", "": `"files"`,
	} {
		_, err := Load([]string{"default", "agent.program.wire=messages", program, "agent.program.files=" + files}, Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", files, err, want)
		}
	}
}
