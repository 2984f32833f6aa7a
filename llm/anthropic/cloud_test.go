//go:build cloud

package anthropic_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/price"
	"batch.example/batch/vocab"
)

const whole = `{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":9}}`

// frames is an answer in the binary form of AWS.
func frames(t *testing.T, list ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range list {
		payload, err := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString([]byte(e))})
		if err != nil {
			t.Fatal(err)
		}
		msg := eventstream.Message{Payload: payload}
		msg.Headers.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(eventstreamapi.EventMessageType))
		msg.Headers.Set(eventstreamapi.EventTypeHeader, eventstream.StringValue("chunk"))
		if err := eventstream.NewEncoder().Encode(&b, msg); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestClaudeInTheClouds(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	signed := map[string]any{"aws_region_name": "eu-west-1", "aws_access_key_id": "id", "aws_secret_access_key": "secret"}
	google := map[string]any{"vertex_project": "p", "vertex_location": "us-east5"}
	for name, tc := range map[string]struct {
		kwargs            map[string]any
		stream            bool
		key, path, header string
	}{
		"Bedrock, signed":   {signed, false, "", "/model/us.anthropic.claude-opus-4-6-v1:0/invoke", "AWS4-HMAC-SHA256 "},
		"Bedrock, streamed": {signed, true, "k", "/model/us.anthropic.claude-opus-4-6-v1:0/invoke-with-response-stream", "Bearer k"},
		"Vertex":            {google, false, "k", "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-6:rawPredict", "Bearer k"},
		"Vertex, streamed":  {google, true, "k", "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-6:streamRawPredict", "Bearer k"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.key != "" {
				t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "another") // than the configuration's, which the SDK prefers
			}
			var got *http.Request
			var sent map[string]json.RawMessage
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r
				text, _ := io.ReadAll(r.Body)
				if err := json.Unmarshal(text, &sent); err != nil || r.ContentLength != int64(len(text)) {
					t.Errorf("sent %d bytes, %d announced: %v", len(text), r.ContentLength, err)
				}
				list := append(append([]string{start}, block("0", `{"type":"text","text":"ok"}`)...), ended("end_turn"), stop)
				switch {
				case !tc.stream:
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, whole)
				case strings.HasPrefix(name, "Bedrock"):
					w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
					_, _ = w.Write(frames(t, list...))
				default:
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.Copy(w, events(list...).Body)
				}
			}))
			defer s.Close()
			kwargs := map[string]any{"stream": tc.stream}
			for k, v := range tc.kwargs {
				kwargs[k] = v
			}
			cfg := endpoint.Config{Model: "bedrock/us.anthropic.claude-opus-4-6-v1:0", BaseURL: s.URL, APIKey: tc.key, Kwargs: kwargs}
			open := anthropic.NewBedrock
			if strings.HasPrefix(name, "Vertex") {
				cfg.Model, open = "vertex_ai/claude-opus-4-6", anthropic.NewVertex
			}
			m, err := open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := m.Generate(t.Context(), ask())
			if err != nil {
				t.Fatal(err)
			}
			if resp.Message.Text() != "ok" || resp.Usage.Input != 3 || resp.Usage.Output != 9 {
				t.Errorf("read %+v, want the answer", resp)
			}
			if got.URL.Path != tc.path || !strings.HasPrefix(got.Header.Get("Authorization"), tc.header) || got.Header.Get("X-Api-Key") != "" {
				t.Errorf("asked %s with %v, want %s with %q", got.URL.Path, got.Header, tc.path, tc.header)
			}
			if sent["model"] != nil || sent["anthropic_version"] == nil || sent["messages"] == nil || sent["aws_region_name"] != nil {
				t.Errorf("sent %s, want the form of the cloud", sent)
			}
		})
	}
}

// Hand-computed: 3 of input at 1 dollar, 9 of output at 2 dollars a token.
func TestARegionOfVertexCostsATenthMore(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, whole) }))
	defer s.Close()
	prices := price.Table{"m": {Price: &vocab.Price{Rates: vocab.Rates{Input: 1, Output: 2}}}}
	for _, tc := range []struct {
		model, location string
		want            float64
	}{
		{"claude-opus-4-6", "global", 21},
		{"claude-opus-4-6", "", 21},
		{"claude-opus-4-6", "us-east5", 23.1},
		{"claude-sonnet-4-5@20250929", "eu", 23.1},
		{"claude-opus-4-1@20250805", "us-east5", 21}, // has no global endpoint
	} {
		kwargs := map[string]any{"vertex_project": "p", "stream": false}
		if tc.location != "" {
			kwargs["vertex_location"] = tc.location
		}
		m, err := anthropic.NewVertex(t.Context(), endpoint.Config{Model: tc.model, BaseURL: s.URL, APIKey: "k", Kwargs: kwargs, Prices: prices})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Generate(t.Context(), ask())
		if err != nil || !resp.Priced || math.Abs(resp.Cost-tc.want) > 1e-9 {
			t.Errorf("%s at %q: %+v, %v; want a cost of %v", tc.model, tc.location, resp, err, tc.want)
		}
	}
}

func TestALoginThatHasEndedStopsTheRun(t *testing.T) {
	status := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"reauth related error (invalid_rapt)"}`)
	}))
	defer s.Close()
	login := `{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r","token_uri":"` + s.URL + `"}`
	m, err := anthropic.NewVertex(t.Context(), endpoint.Config{
		Model: "claude-opus-4-6", BaseURL: "http://model.test", Kwargs: map[string]any{"vertex_project": "p", "vertex_credentials": login},
	})
	if err != nil {
		t.Fatal(err)
	}
	for code, kind := range map[int]fault.Kind{400: fault.Host, 401: fault.Host, 503: fault.Transient} {
		status = code
		_, err = m.Generate(t.Context(), ask())
		if fault.KindOf(err) != kind || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("%d: %v (%v), want %v with what the server said", code, err, fault.KindOf(err), kind)
		}
		if kind == fault.Host && (llm.Lost(err) != 0 || !strings.Contains(fault.HintOf(err), "gcloud auth")) {
			t.Errorf("%d: %d lost, hint %q; want none lost, and how to log in", code, llm.Lost(err), fault.HintOf(err))
		}
	}
}

func TestACloudWithoutAnAccountIsRefused(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/none")
	for name, tc := range map[string]struct {
		vertex bool
		key    string
		kwargs map[string]any
		kind   fault.Kind
	}{
		"no region":          {false, "", nil, fault.Usage},
		"no credentials":     {false, "", map[string]any{"aws_region_name": "eu-west-1"}, fault.Host},
		"a region of 1":      {false, "", map[string]any{"aws_region_name": 1}, fault.Usage},
		"no project":         {true, "k", nil, fault.Usage},
		"no account":         {true, "", nil, fault.Host},
		"broken credentials": {true, "", map[string]any{"vertex_credentials": "{"}, fault.Usage},
	} {
		open := anthropic.NewBedrock
		if tc.vertex {
			open = anthropic.NewVertex
		}
		_, err := open(t.Context(), endpoint.Config{Model: "m", APIKey: tc.key, Kwargs: tc.kwargs})
		if fault.KindOf(err) != tc.kind {
			t.Errorf("%s: %v (%v), want %v", name, err, fault.KindOf(err), tc.kind)
		}
	}
}
