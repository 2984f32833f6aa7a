package agent

import (
	"fmt"
	"regexp"
	"strconv"

	"batch.example/batch/llm"
)

// identified returns the reply of a step with an id of its own for each tool
// call: where one is missing, or stands in the conversation already, a provider
// cannot know which call an answer means. The same conversation and reply always
// give the same ids, and a reply that has its own stays as it is.
func (r *run) identified(resp *llm.Response, step int) *llm.Response {
	calls := resp.Message.ToolCalls()
	given := map[string]int{} // the first call that has the id
	for i, c := range calls {
		if _, again := given[c.ID]; !again && c.ID != "" && !r.callIDs[c.ID] {
			given[c.ID] = i
		}
	}
	if len(given) == len(calls) {
		return resp
	}
	ids := make([]string, len(calls))
	made := map[string]bool{}
	for i, c := range calls {
		ids[i] = c.ID
		if first, ok := given[c.ID]; ok && first == i {
			continue
		}
		ids[i] = newCallID(c.ID, step, i+1, func(id string) bool {
			_, taken := given[id]
			return taken || made[id] || r.callIDs[id]
		})
		made[ids[i]] = true
	}
	own := *resp
	own.Message = resp.Message.WithToolCallIDs(ids)
	return &own
}

// numbered is an id that counts calls, as Kimi models write and read them.
var numbered = regexp.MustCompile(`^(.+:)([0-9]{1,9})$`)

// newCallID returns an id that is not taken in place of old. What counts on
// goes on counting; all else has nine letters and digits, which is what the
// strictest providers take (Mistral).
func newCallID(old string, step, n int, taken func(string) bool) string {
	next := func() string { n++; return fmt.Sprintf("s%05dc%02d", step, n-1) }
	if m := numbered.FindStringSubmatch(old); m != nil {
		count, _ := strconv.Atoi(m[2])
		next = func() string { count++; return m[1] + strconv.Itoa(count) }
	}
	id := next()
	for taken(id) {
		id = next()
	}
	return id
}
