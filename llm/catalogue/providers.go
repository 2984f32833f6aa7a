package catalogue

import (
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"batch.example/batch/llm"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/scripted"
)

// providers is the table. What has no row of its own is asked by way of the first.
var providers = []Provider{
	{
		Name: "openai", Models: []string{"openai/NAME"}, Key: "OPENAI_API_KEY", Base: "OPENAI_BASE_URL", Host: "api.openai.com", Paid: true,
		prices: price.Known, tells: isOpenRouter, caching: cachesWhereTold,
		endpoint: func(c client) (string, string, error) { return c.openai().Endpoint() },
		connect:  func(c client) (llm.Model, error) { return openai.New(c.openai()) },
	},
	{Name: "oracle", Models: []string{"oracle"}, Gold: true, play: playOracle},
	{Name: "noop", Models: []string{"noop"}, play: playNoop},
	{Name: "scripted", Models: []string{"scripted/" + demoScript, "scripted/PATH"}, play: playScript},
}

func (c client) openai() openai.Config {
	return openai.Config{
		Model: c.model, BaseURL: c.base, APIKey: c.key, Kwargs: c.kwargs, Prices: c.prices,
		CacheControl: c.caching, Proven: c.proven,
	}
}

// isOpenRouter tells a server that says what each call cost.
func isOpenRouter(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "openrouter.ai" || strings.HasSuffix(u.Hostname(), ".openrouter.ai"))
}

// cachesWhereTold has the end of the conversation marked for models that cache their
// prompt only where a request says so. The rule is mini-swe-agent's, for Claude behind
// OpenRouter or LiteLLM.
func cachesWhereTold(model string) string {
	model = strings.ToLower(model)
	if slices.ContainsFunc([]string{"anthropic", "sonnet", "opus", "claude"}, func(part string) bool {
		return strings.Contains(model, part)
	}) {
		return openai.CacheControlEnd
	}
	return ""
}

// demoScript is the name of the demo's own script.
const demoScript = "demo"

func playOracle(s Settings, _ string) (func(Attempt) *scripted.Model, error) {
	return func(a Attempt) *scripted.Model { return scripted.Oracle([]byte(a.Patch), s.script()) }, nil
}

func playNoop(s Settings, _ string) (func(Attempt) *scripted.Model, error) {
	return func(Attempt) *scripted.Model { return scripted.Noop(s.script()) }, nil
}

func playScript(s Settings, path string) (func(Attempt) *scripted.Model, error) {
	load := func() (scripted.Script, error) { return scripted.Load(path) }
	if path == demoScript && s.Demo != nil {
		load = func() (scripted.Script, error) { return scripted.LoadFS(s.Demo, "replies.yaml") }
	}
	script, err := load()
	if errors.Is(err, fs.ErrNotExist) {
		err = noScript(path)
	}
	return func(a Attempt) *scripted.Model { return script.Model(a.ID, s.script()) }, err
}
