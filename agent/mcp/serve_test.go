package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"batch.example/batch/agent/mcp"
)

// serveAs is the variable that makes the test program a server.
const serveAs = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(serveAs); kind != "" {
		serve(kind)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is a server that runs the test program as that kind of server.
func program(t testing.TB, kind string, env ...string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{
		Name: "test", Command: []string{self}, Env: append(env, serveAs+"="+kind),
		Tools: []string{"*"}, Timeout: 100 * time.Second,
	}
}

func serve(kind string) {
	raw, ok := rawServers[kind]
	switch {
	case kind == "sdk":
		if err := sdkServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	case ok:
		raw()
	default:
		fmt.Fprintln(os.Stderr, "unknown kind of server", kind)
		os.Exit(2)
	}
}

type echoArgs struct {
	Text string `json:"text"`
}

// sdkServer is a server of the official SDK.
func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	say := func(texts ...string) *sdk.CallToolResult {
		r := &sdk.CallToolResult{}
		for _, text := range texts {
			r.Content = append(r.Content, &sdk.TextContent{Text: text})
		}
		return r
	}
	add := func(name string, hints *sdk.ToolAnnotations, f func(ctx context.Context, text string) (*sdk.CallToolResult, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "The tool " + name + ".", Annotations: hints},
			func(ctx context.Context, _ *sdk.CallToolRequest, a echoArgs) (*sdk.CallToolResult, any, error) {
				r, err := f(ctx, a.Text)
				return r, nil, err
			})
	}
	add("echo", &sdk.ToolAnnotations{ReadOnlyHint: true}, func(_ context.Context, text string) (*sdk.CallToolResult, error) {
		return say("you said", text), nil
	})
	add("fail", nil, func(context.Context, string) (*sdk.CallToolResult, error) { return nil, fmt.Errorf("it is broken") })
	add("environ", nil, func(context.Context, string) (*sdk.CallToolResult, error) {
		return say(strings.Join(os.Environ(), "\n")), nil
	})
	add("pid", nil, func(context.Context, string) (*sdk.CallToolResult, error) { return say(fmt.Sprint(os.Getpid())), nil })
	add("large", nil, func(context.Context, string) (*sdk.CallToolResult, error) {
		return say("first " + strings.Repeat("x", 3<<20) + " last"), nil
	})
	add("huge", nil, func(context.Context, string) (*sdk.CallToolResult, error) {
		// As an answer is sent, but without encoding it: that would be most of the test's work.
		fmt.Print(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 33<<20))
		return say(`"}]}}`), nil
	})
	add("media", nil, func(context.Context, string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "look"},
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("1")},
			&sdk.ResourceLink{URI: "file:///x", Name: "x"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///y", Text: "the text of y"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///z", Blob: []byte("123")}},
		}}, nil
	})
	s.AddTool(&sdk.Tool{Name: "structured", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{StructuredContent: map[string]any{"answer": 42}}, nil
		})
	s.AddTool(&sdk.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return say(string(r.Params.Arguments)), nil
		})
	add("wait", nil, func(ctx context.Context, file string) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		if file != "" {
			_ = os.WriteFile(file, []byte("canceled"), 0o600)
		}
		return nil, ctx.Err()
	})
	die := func(_ context.Context, file string) (*sdk.CallToolResult, error) {
		if _, err := os.Stat(file); err == nil {
			return say("alive again"), nil
		}
		_ = os.WriteFile(file, nil, 0o600)
		os.Exit(3)
		return nil, nil
	}
	add("die", nil, die)
	add("die_readonly", &sdk.ToolAnnotations{ReadOnlyHint: true}, die)
	add("die_later", nil, func(context.Context, string) (*sdk.CallToolResult, error) {
		time.AfterFunc(50*time.Millisecond, func() { os.Exit(3) })
		return say("soon"), nil
	})
	add("change", nil, func(context.Context, string) (*sdk.CallToolResult, error) {
		s.AddTool(&sdk.Tool{Name: "new", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return say("new"), nil })
		s.RemoveTools("fail")
		return say("changed"), nil
	})
	add("child", nil, func(_ context.Context, file string) (*sdk.CallToolResult, error) {
		c := exec.Command("bash", "-c", `trap '' TERM HUP; echo $$ > "$0"; while :; do sleep 1; done`, file)
		if err := c.Start(); err != nil {
			return nil, err
		}
		for {
			if data, err := os.ReadFile(file); err == nil && len(data) > 0 {
				return say(strings.TrimSpace(string(data))), nil
			}
		}
	})
	return s
}

// answer is the result of a method, as JSON; empty: none.
type answer func(method string, params json.RawMessage) string

const initialized = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`

// rawServer answers each request with what the function returns.
func rawServer(f answer) func() {
	return func() {
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 64<<20)
		for in.Scan() {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			}
			if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
				continue
			}
			result := ""
			switch m.Method {
			case "initialize":
				result = initialized
			case "server/discover": // unknown, and left without an answer
			default:
				result = f(m.Method, m.Params)
			}
			if result != "" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
			}
		}
	}
}

// listing answers tools/list with these tools, and calls with call.
func listing(tools string, call string) answer {
	return func(method string, _ json.RawMessage) string {
		switch method {
		case "tools/list":
			return `{"tools":[` + tools + `]}`
		case "tools/call":
			return call
		}
		return "{}"
	}
}

func oneTool(name string) string {
	data, _ := json.Marshal(map[string]any{"name": name, "description": "d", "inputSchema": map[string]any{"type": "object"}})
	return string(data)
}

func manyTools(n int) string {
	var list []string
	for i := range n {
		list = append(list, oneTool(fmt.Sprintf("tool%d", i)))
	}
	return strings.Join(list, ",")
}

const okay = `{"content":[{"type":"text","text":"okay"}]}`

var rawServers = map[string]func(){
	"mute": func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	},
	"banner": func() {
		fmt.Println("Welcome to my server!\n[1;32mINFO[0m {\"level\":\"info\"} the key is hunter2-hunter2\n{\"level\":\"info\"}")
		rawServer(listing(oneTool("t"), okay))()
	},
	"garbage": func() {
		fmt.Println("Welcome to my server!")
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	},
	"ends": func() {
		fmt.Fprintln(os.Stderr, "cannot read my settings, the key is hunter2-hunter2")
		os.Exit(4)
	},
	"ten thousand": rawServer(listing(manyTools(10_000), okay)),
	"two hundred":  rawServer(listing(manyTools(200), okay)),
	"no tools":     rawServer(listing("", okay)),
	"endless": rawServer(func(string, json.RawMessage) string {
		return `{"tools":[` + oneTool("a") + `],"nextCursor":"again"}`
	}),
	"odd": rawServer(listing(strings.Join([]string{
		oneTool("a.b"), oneTool("a b"), oneTool("a/b"), oneTool("ünïcode"), oneTool(""), oneTool("a.b"), oneTool("__"), oneTool("evil\u0000\n`x`"),
		oneTool(strings.Repeat("long", 40) + "1"), oneTool(strings.Repeat("long", 40) + "2"), "null",
		`{"name":"noschema"}`, `{"name":"oddschema","inputSchema":{"type":"string"}}`,
		`{"name":"bigschema","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 100_000) + `"},"description":"` + strings.Repeat("y", 100_000) + `"}`,
	}, ","), okay)),
	"null content": rawServer(listing(oneTool("t"), `{"content":[null]}`)),
	"bad result":   rawServer(listing(oneTool("t"), `{"content":"not a list"}`)),
	"asks":         rawServer(listing(oneTool("t"), `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}},"content":[]}`)),
	"floods": rawServer(func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[` + oneTool("t") + `]}`
		}
		for range 2_000 {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}
		return okay
	}),
	"malformed": rawServer(func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[` + oneTool("t") + `]}`
		}
		fmt.Println(`{"jsonrpc": oops`)
		return ""
	}),
	"deaf": rawServer(func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[` + oneTool("t") + `]}`
		}
		time.Sleep(time.Hour) // reads nothing any more
		return ""
	}),
}
