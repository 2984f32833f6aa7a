package doctor

import "testing"

// A command is asked for with the tool that runs one, in the form of each protocol and of its arguments.
func TestCommandOf(t *testing.T) {
	for name, tt := range map[string]struct{ body, tool, args string }{
		"messages": {
			`{"tools":[{"name":"Task","input_schema":{"properties":{"command":{"type":"string"},"prompt":{"type":"string"}},"required":["prompt"]}},
			{"name":"Bash","input_schema":{"properties":{"command":{"type":"string"},"timeout":{"type":"number"}},"required":["command"]}}]}`,
			"Bash", `{"command":"ls"}`,
		},
		"chat": {
			`{"tools":[{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{"type":"string"},"description":{"type":"string"}},"required":["command","description"]}}}]}`,
			"bash", `{"command":"ls","description":"a check of batch doctor"}`,
		},
		"responses": {
			`{"tools":[{"type":"web_search"},{"type":"custom","name":"apply_patch","format":{}},{"type":"function","name":"exec_command","parameters":{"properties":{"cmd":{"type":"string"},"login":{"type":"boolean"},"max":{"type":["integer","null"]}},"required":["cmd","login","max"]}}]}`,
			"exec_command", `{"cmd":"ls","login":false,"max":1}`,
		},
		"a list": {
			`{"tools":[{"type":"function","name":"shell","parameters":{"properties":{"command":{"type":"array","items":{"type":"string"}},"mode":{"enum":["a","b"]}},"required":["command","mode"]}}]}`,
			"shell", `{"command":["bash","-c","ls"],"mode":"a"}`,
		},
		"gemini": {
			`{"tools":[{"functionDeclarations":[{"name":"read_file","parametersJsonSchema":{"properties":{"path":{}}}},{"name":"run_shell_command","parameters":{"properties":{"command":{"type":"STRING"},"flags":{"type":"OBJECT"}},"required":["command","flags"]}}]}]}`,
			"run_shell_command", `{"command":"ls","flags":{}}`,
		},
		"no list of what is needed": {`{"tools":[{"name":"bash","input_schema":{"properties":{"command":{"type":"string"}}}}]}`, "bash", `{"command":"ls"}`},
		"none":                      {`{"tools":[{"name":"edit","input_schema":{"properties":{"path":{"type":"string"}}}}]}`, "", ""},
		"no tools":                  {`{"messages":[]}`, "", ""},
		"no JSON":                   {`tools`, "", ""},
	} {
		call := commandOf(offers([]byte(tt.body)), "ls")
		switch {
		case call == nil && tt.tool != "":
			t.Errorf("%s: no call", name)
		case call != nil && (call.Name != tt.tool || call.Arguments != tt.args):
			t.Errorf("%s: %s %s", name, call.Name, call.Arguments)
		}
	}
}

func TestChangesOfAPatch(t *testing.T) {
	const patch = "diff --git a/batch-doctor.txt b/batch-doctor.txt\nnew file mode 100644\n--- /dev/null\n+++ b/batch-doctor.txt\n@@ -0,0 +1 @@\n+agent\n" +
		"diff --git a/.own b/.own\n--- /dev/null\n+++ b/.own\n@@ -0,0 +1 @@\n+x\n"
	if user, others := changes([]byte(patch)); user != "agent" || len(others) != 1 || others[0] != ".own" {
		t.Errorf("%q, %q", user, others)
	}
	if user, others := changes(nil); user != "" || others != nil {
		t.Errorf("%q, %q", user, others)
	}
}
