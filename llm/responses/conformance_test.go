package responses_test

import (
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/conformance"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/responses"
	"batch.example/batch/llm/stub"
)

var suite = conformance.Client{
	Protocol: stub.Responses, Streams: []bool{false, true},
	Open: func(cfg endpoint.Config) (llm.Model, error) { return responses.New(cfg) },
}

func TestConformance(t *testing.T) { conformance.Run(t, suite) }

func FuzzAnswer(f *testing.F) {
	f.Add(uint16(200), false, whole(items...))
	f.Add(uint16(200), true, events(`{"type":"response.output_item.done","output_index":-1,"item":null}`, `{"type":"response.completed","response":`+whole()+`}`).body)
	f.Add(uint16(200), true, events(`{"type":"error","error":{"code":400,"type":3,"message":"`+conformance.Key+`"}}`).body)
	f.Add(uint16(200), false, `{"output":[null,{"type":"function_call","arguments":{}},{"type":"reasoning","id":3}],"usage":[],"error":{}}`)
	f.Add(uint16(200), false, "{\"output\":[{\"type\":\"message\",\"x\":\"\x85\"}]}")
	conformance.FuzzAnswer(f, suite)
}
