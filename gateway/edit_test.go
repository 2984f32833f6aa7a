package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// What reaches beyond the call, another model, or the network from the provider, is taken out.
func TestWhatReachesBeyondTheCallIsTakenOut(t *testing.T) {
	const took = `{"type":"text","text":"[batch took out what the provider would have to fetch]"}`
	const tookInput = `{"type":"input_text","text":"[batch took out what the provider would have to fetch]"}`
	const tookPart = `{"text":"[batch took out what the provider would have to fetch]"}`
	for name, tt := range map[string]struct{ wire, given, want string }{
		"tools": {
			"messages", `{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"bash"},{"type":"code_execution_20250522","name":"c"}],"tool_choice":{"type":"auto"}}`,
			`{"model":"the-model","tools":[{"name":"bash"}],"tool_choice":{"type":"auto"}}`,
		},
		"all tools":         {"messages", `{"tool_choice":{"type":"tool","name":"web_fetch"},"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}],"model":"m"}`, `{"model":"the-model"}`},
		"a chosen tool":     {"messages", `{"tool_choice":{"type":"tool","name":"web_fetch"},"tools":[{"name":"bash"},{"type":"web_fetch_20250910","name":"web_fetch"}],"model":"m"}`, `{"tools":[{"name":"bash"}],"model":"the-model"}`},
		"a type twice":      {"messages", `{"model":"m","tools":[{"type":"custom","type":"web_fetch_20250910","name":"web_fetch"}]}`, `{"model":"the-model"}`},
		"no other model":    {"messages", `{"model":"a","\u006dodel":"b","MODEL":"c","fallbacks":[{"model":"d"}],"x":1}`, `{"model":"the-model","model":"the-model","model":"the-model","x":1}`},
		"a model's advice":  {"messages", `{"model":"m","tools":[{"type":"advisor_20260301","model":"opus"}]}`, `{"model":"the-model"}`},
		"no model":          {"messages", `{"x":1}`, `{"x":1,"model":"the-model"}`},
		"members":           {"messages", `{"container":"c1","model":"m","mcp_servers":[{"url":"http://x"}],"service_tier":"priority","speed":"fast","inference_geo":"us"}`, `{"model":"the-model"}`},
		"members elsewhere": {"messages", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"source":{"type":"url"},"content":"x"}}]}]}`, `{"model":"the-model","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"source":{"type":"url"},"content":"x"}}]}]}`},
		"an address": {
			"messages", `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://x/a.png"}},{"type":"text","text":"\u00e9"}]},{"role":"user","content":"a \"url\" in text"}]}`,
			`{"model":"the-model","messages":[{"role":"user","content":[` + took + `,{"type":"text","text":"\u00e9"}]},{"role":"user","content":"a \"url\" in text"}]}`,
		},
		"an address in disguise": {
			"messages", `{"model":"m","messages":[{"content":[{"type":"image","source":{"type":"base64"},"sourc\u0065":{"type":"\u0075rl","url":"http://x/a.png"}}]}]}`,
			`{"model":"the-model","messages":[{"content":[` + took + `]}]}`,
		},
		"an address in a result": {
			"messages", `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}]}`,
			`{"model":"the-model","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[` + took + `]}]}]}`,
		},
		"an address in a document": {
			"messages", `{"model":"m","messages":[{"content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"u"}}]}}]}]}`,
			`{"model":"the-model","messages":[{"content":[{"type":"document","source":{"type":"content","content":[` + took + `]}}]}]}`,
		},
		"bytes of an image stay": {
			"messages", `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\"url\""}}]}]}`,
			`{"model":"the-model","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"\"url\""}}]}]}`,
		},

		"chat, members":     {"chat", `{"model":"m","store":true,"n":1,"service_tier":"flex","models":["a"],"fallbacks":[{"model":"b"}],"api_base":"http://x","web_search_options":{},"plugins":[{"id":"web"}]}`, `{"model":"the-model","n":1}`},
		"chat, tools":       {"chat", `{"model":"m","tools":[{"type":"function","function":{"name":"bash"}},{"type":"builtin_function","function":{"name":"$web_search"}}],"tool_choice":{"type":"function","function":{"name":"bash"}}}`, `{"model":"the-model","tools":[{"type":"function","function":{"name":"bash"}}]}`},
		"chat, usage":       {"chat", `{"model":"m","stream":true}`, `{"model":"the-model","stream":true,"stream_options":{"include_usage":true}}`},
		"chat, no usage":    {"chat", `{"model":"m","stream_options":{"include_usage":false,"x":1},"stream":true}`, `{"model":"the-model","stream_options":{"x":1,"include_usage":true},"stream":true}`},
		"chat, usage asked": {"chat", `{"model":"m","stream_options":{"include_usage": true},"stream":true}`, `{"model":"the-model","stream_options":{"include_usage": true},"stream":true}`},
		"chat, usage twice": {"chat", `{"stream":false,"model":"m","stream_options":{"include_usage":true,"include_usage":false},"stream":true}`, `{"stream":false,"model":"the-model","stream_options":{"include_usage":true},"stream":true}`},
		"chat, addresses": {
			"chat", `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/a.png"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},{"type":"file","file":{"file_id":"f"}},{"type":"video_url","video_url":{"url":"file:///etc/x"}}]}]}`,
			`{"model":"the-model","messages":[{"role":"user","content":[` + took + `,{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},` + took + `,` + took + `]}]}`,
		},

		"responses, members": {"responses", `{"model":"m","store":true,"background":true,"service_tier":"flex","previous_response_id":null}`, `{"model":"the-model","store":false}`},
		"responses, kept":    {"responses", `{"model":"m"}`, `{"model":"the-model","store":false}`},
		"responses, tools": {
			"responses", `{"model":"m","store":false,"tools":[{"type":"web_search_preview"},{"type":"mcp","server_url":"http://x"},{"type":"code_interpreter","container":{"type":"auto"}},{"type":"shell","environment":{"type":"container_auto"}},{"type":"shell","environment":{"type":"local"}},{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"},{"type":"file_search"}]}],"tool_choice":{"type":"mcp"}}`,
			`{"model":"the-model","store":false,"tools":[{"type":"shell","environment":{"type":"local"}},{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}]}`,
		},
		"responses, tools in the input": {
			"responses", `{"model":"m","store":false,"input":[{"type":"additional_tools","tools":[{"type":"web_search"},{"type":"custom","name":"c"}]}]}`,
			`{"model":"the-model","store":false,"input":[{"type":"additional_tools","tools":[{"type":"custom","name":"c"}]}]}`,
		},
		"responses, addresses": {
			"responses", `{"model":"m","store":false,"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x"},{"type":"input_file","file_id":"f"},{"type":"input_file","file_url":"u"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","image_url":"https://x"}]}]}`,
			`{"model":"the-model","store":false,"input":[{"role":"user","content":[` + tookInput + `,` + tookInput + `,` + tookInput + `,{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},{"type":"function_call_output","call_id":"a","output":[` + tookInput + `]}]}`,
		},

		"gemini, members": {"gemini", `{"model":"models/x","labels":{"a":"b"},"service_tier":"flex","contents":[]}`, `{"contents":[]}`},
		"gemini, tools": {
			"gemini", `{"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"f"}],"url_context":{}},{"codeExecution":{}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`,
			`{"tools":[{"functionDeclarations":[{"name":"f"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`,
		},
		"gemini, all tools": {"gemini", `{"toolConfig":{},"tools":[{"google_search":{}}]}`, `{}`},
		"gemini, addresses": {
			"gemini", `{"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"https://x"}},{"text":"a"},{"functionResponse":{"name":"f","response":{"fileData":"x"},"parts":[{"file_data":{"file_uri":"u"}}]}}]}]}`,
			`{"contents":[{"role":"user","parts":[` + tookPart + `,{"text":"a"},{"functionResponse":{"name":"f","response":{"fileData":"x"},"parts":[` + tookPart + `]}}]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, removed, err := dialects[tt.wire].edit([]byte(tt.given), "the-model", false)
			if err != nil || string(got) != tt.want || !json.Valid(got) {
				t.Errorf("%v\n%s\nwant\n%s", err, got, tt.want)
			}
			t.Log(removed)
		})
	}
}

// A request that means something else without such a member is refused.
func TestWhatReachesBeyondTheCallIsRefused(t *testing.T) {
	for given, wire := range map[string]string{
		`{"n":2}`: "chat", `{"n":1,"n":3}`: "chat",
		`{"previous_response_id":"resp_1"}`: "responses", `{"conversation":"conv_1"}`: "responses", `{"prompt":{"id":"p"}}`: "responses",
		`{"input":[{"type":"item_reference","id":"rs_1"}]}`: "responses",
		`{"cachedContent":"cachedContents/1"}`:              "gemini", `{"generation_config":{"candidate_count":2}}`: "gemini",
	} {
		if got, _, err := dialects[wire].edit([]byte(given), "the-model", false); err == nil || !strings.Contains(err.Error(), "reaches beyond the call") {
			t.Errorf("%s: %s, %v", given, got, err)
		}
	}
	const hosted = `{"model":"m","messages":[{"content":[{"type":"image","source":{"type":"url","url":"u"}}]}],"tools":[{"type":"web_search_20250305"}]}`
	if got, removed, err := dialects["messages"].edit([]byte(hosted), "m", true); string(got) != hosted || removed != nil || err != nil {
		t.Errorf("with hosted tools: %s, %q, %v", got, removed, err)
	}
}

// Whatever a program sends, what is passed on is JSON and asks no other model, and no tool at the provider.
func FuzzEdit(f *testing.F) {
	for _, p := range protocols {
		f.Add(p.tools.body)
		f.Add(p.plain.body)
	}
	f.Add(`{"model":"a","MODEL":"b","tools":[{"type":"web_search"},{"tools":[{"type":"mcp"}],"googleSearch":{}}],"input":[{"tools":[[{"type":"mcp"}]]}],"n":"2","stream":true,"stream_options":[1]}`)
	f.Add(`[{"model":"a"}]`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, wire := range slices.Sorted(maps.Keys(dialects)) {
			if !json.Valid([]byte(body)) {
				continue // is refused before
			}
			got, _, err := dialects[wire].edit([]byte(body), "the-model", false)
			if err != nil {
				continue
			}
			if !json.Valid(got) {
				t.Fatalf("%s: %s", wire, got)
			}
			if wrong := beyond(wire, gjson.ParseBytes(got)); wrong != "" {
				t.Fatalf("%s: %s in %s", wire, wrong, got)
			}
		}
	})
}

// beyond returns what a request has that it must not have.
func beyond(wire string, request gjson.Result) (wrong string) {
	request.ForEach(func(key, value gjson.Result) bool {
		switch {
		case strings.EqualFold(key.Str, "model") && (wire == "gemini" || value.Str != "the-model"):
			wrong = "another model"
		case strings.EqualFold(key.Str, "store") && wire != "messages" && value.Raw != "false":
			wrong = "an answer that is kept"
		case strings.EqualFold(key.Str, "service_tier"):
			wrong = "a tier"
		case strings.EqualFold(key.Str, "tools"):
			for _, tool := range value.Array() {
				for _, kind := range []string{"web_search", "code_execution", "code_interpreter", "mcp"} {
					if start := tool.Get("type").String(); wire != "gemini" && strings.HasPrefix(start, kind) && tool.IsObject() {
						wrong = fmt.Sprintf("a tool %q", start)
					}
				}
				if wire == "gemini" && (tool.Get("googleSearch").Exists() || tool.Get("google_search").Exists()) && tool.IsObject() {
					wrong = "a search"
				}
			}
		}
		return wrong == ""
	})
	return wrong
}

// A request that is nested deep, which takes long to read, is refused before that.
func TestADeepRequestIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		ok   bool
	}{
		"the deepestBody": {strings.Repeat("[", deepestBody) + strings.Repeat("]", deepestBody), true},
		"deeper":          {strings.Repeat("[", deepestBody+1) + strings.Repeat("]", deepestBody+1), false},
		"beside":          {"[" + strings.Repeat("{},", 1000) + "{}]", true},
		"in a text":       {`{"a":"\"` + strings.Repeat("[", 1000) + `\\"}`, true},
		"not even JSON":   {strings.Repeat("{", 1<<20), false},
		"after the text":  {`"\\"` + strings.Repeat("[", deepestBody+1), false},
	} {
		if err := shallow([]byte(tt.body)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
