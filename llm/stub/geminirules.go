package stub

import (
	"encoding/json"

	"batch.example/batch/llm"
	"batch.example/batch/llm/inbound"
)

// geminiRequest holds the members that the rules concern.
type geminiRequest struct {
	Contents          []json.RawMessage `json:"contents"`
	SystemInstruction *inbound.Content  `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name                 string          `json:"name"`
			Parameters           json.RawMessage `json:"parameters"`
			ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
}

// readGemini fills in a request and enforces the rules of generateContent.
func readGemini(r *Request, sent *sent) error {
	if name := unknownMember(r.Members, geminiMembers); name != "" {
		return says("Invalid JSON payload received. Unknown name %q: Cannot find field.", name)
	}
	var g geminiRequest
	if err := json.Unmarshal(r.Body, &g); err != nil {
		return says("Invalid JSON payload received. %v", err)
	}
	if len(g.Contents) == 0 {
		return says("* GenerateContentRequest.contents: contents is not specified\n")
	}
	for _, t := range g.Tools {
		for i, f := range t.FunctionDeclarations {
			if f.Name == "" {
				return says("* GenerateContentRequest.tools[0].function_declarations[%d].name: Invalid function name.\n", i)
			}
			schema := f.Parameters
			if len(schema) == 0 {
				schema = f.ParametersJSONSchema
			}
			r.addTool(f.Name, schema)
		}
	}
	return r.readGeminiContents(g, sent)
}

func (r *Request) readGeminiContents(g geminiRequest, sent *sent) error {
	var turns []llm.Message
	if g.SystemInstruction != nil {
		system := g.SystemInstruction.Message()
		system.Role = llm.RoleSystem
		turns = append(turns, system)
	}
	var contents []inbound.Content
	for i, raw := range g.Contents {
		var c inbound.Content
		if err := json.Unmarshal(raw, &c); err != nil {
			return says("Invalid value at 'contents[%d]': %v", i, err)
		}
		r.Messages = append(r.Messages, Message{Role: c.Role, Raw: raw})
		contents = append(contents, c)
		turn := c.Message()
		if turn.Role == "" {
			return says("Please use a valid role: user, model.")
		}
		turns = append(turns, turn)
	}
	r.set(turns)
	return checkGemini(r.Model, contents, sent)
}

func checkGemini(model string, contents []inbound.Content, sent *sent) error {
	start := 0 // start of the current turn, from which on signatures are required
	for i, c := range contents {
		if c.Role != "model" && geminiCalls(c, true) == 0 {
			start = i
		}
	}
	open, speaker := 0, "" // unanswered function calls of the previous content
	for i, c := range contents {
		if len(c.Parts) == 0 {
			return says("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.\n", i)
		}
		calls, responses := geminiCalls(c, false), geminiCalls(c, true)
		switch {
		case calls > 0 && c.Role != "model", calls > 0 && speaker != "user":
			return says("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		case responses > 0 && open == 0:
			return says("Please ensure that function response turn comes immediately after a function call turn.")
		case responses != open:
			return says("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		if err := checkContent(c, i, isGemini3(model) && i > start, sent); err != nil {
			return err
		}
		open, speaker = calls, c.Role
		if c.Role != "model" {
			speaker = "user"
		}
	}
	if open > 0 {
		return says("Please ensure that single turn requests end with a user role or the role field is empty.")
	}
	return nil
}

// geminiCalls counts function calls, or responses.
func geminiCalls(c inbound.Content, responses bool) (n int) {
	for _, p := range c.Parts {
		if responses && p.FunctionResponse != nil || !responses && p.FunctionCall != nil {
			n++
		}
	}
	return n
}

// checkContent checks the signatures of a content, and that its first function call has one if wanted is set.
func checkContent(c inbound.Content, i int, wanted bool, sent *sent) error {
	for j, p := range c.Parts {
		ok := true
		switch {
		case p.Text == nil && p.FunctionCall == nil && p.FunctionResponse == nil && p.InlineData == nil:
			return says("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field\n", i, j)
		case p.FunctionCall != nil:
			f := p.FunctionCall
			if wanted && p.Signature == "" {
				return says("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", f.Name, i+1)
			}
			wanted = false
			ok = p.Signature == "" || p.Signature == callSignature(f.Name, string(f.Args)) || sent.sealed("call", p.Signature)
		case p.FunctionResponse != nil && !isObject(string(p.FunctionResponse.Response)):
			return says("Invalid value at 'contents[%d].parts[%d].function_response.response' (Map)", i, j)
		case p.Text != nil && p.Signature != "":
			ok = *p.Text == "" || p.Signature == signature("answer", *p.Text) || sent.sealed("answer", p.Signature)
		}
		if !ok {
			return says("Corrupted thought signature.")
		}
	}
	return nil
}
