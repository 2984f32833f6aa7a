package config

import (
	"encoding/json"
	"os"
	"testing"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/internal/progress/schematest"
)

// The schema and the loader agree on each file.
func TestSchemaAgreesWithTheLoader(t *testing.T) {
	presets(t) // with the protocols of all of them
	text, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	schema := schematest.Compile(t, string(text))
	files := map[string]bool{
		"agent: {step_limit: 5, mode: yolo}": true,
		"agent: {step_limt: 5}":              false,
		"agnet: {step_limit: 5}":             false,
		"agent: {step_limit: five}":          false,
		"agent: {step_limit: -1}":            false,
		"agent: {step_limit:}":               false,
		"agent: {action_observation_template: '{{ output }}', system_template: }":                   true,
		"agent: {context_policy: forget}":                                                           false,
		"environment: {env: {A: 1, PAGER: null}, memory: 8g, container_timeout: 2h}":                true,
		"environment: {env: [A]}":                                                                   false,
		"environment: {engines: [docker, {address: podman, workers: 2}]}":                           true,
		"environment: {engines: [{place: podman}]}":                                                 false,
		"environment: {pod: {nodeSelector: {a: b}}}\nmodel:\n":                                      true,
		"model: {model_kwargs: {temperature: 0, stop: [a]}}":                                        true,
		"agent: {mcp_servers: {files: {command: [files, 1], tools: ['*'], timeout: 5}, old: null}}": true,
		"agent: {mcp_servers: {files: {comand: [files]}}}":                                          false,
		"run: {mask_patterns: ['a+']}":                                                              true,
		"run: {mask_patterns: a}":                                                                   false,
		"model: {action_form: tools, set_cache_control: null}\nagent: {ask: true, mode: x}":         true,
		"agent: {ask: 1}": false,
	}
	for _, name := range builtins {
		text, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		files[text] = true
	}
	for text, want := range files {
		var doc any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); (err == nil) != want {
			t.Errorf("the schema says %v, want accepted %t:\n%s", err, want, text)
		}
		file := t.TempDir() + "/c.yaml"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load([]string{file}, Options{}); (err == nil) != want {
			t.Errorf("the loader says %v, want accepted %t:\n%s", err, want, text)
		}
	}
}
