package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/catalogue"
)

// patience is the time limit for a small call.
const patience = time.Minute

// request is what a model is asked.
var request = llm.Text{Text: "Reply with the word OK and nothing else."}

// Ask makes one small call to a model with each of its keys, as a run would, and checks the
// results; if the last was answered, one more asks whether the model takes images. tools are the
// tools that the run offers the model; nil means that commands are in text.
// A model that batch plays itself is not called.
func Ask(ctx context.Context, s catalogue.Config, tools []llm.Tool) []Check {
	found, err := catalogue.Find(s)
	if err != nil {
		return []Check{failed(err)}
	}
	if found.Played {
		return []Check{{"model", Good, s.Model + " is part of batch: it needs no key and costs nothing", ""}}
	}
	models, err := found.Each()
	if err != nil {
		return []Check{failed(err)}
	}
	var checks []Check
	var last *llm.Response
	var works llm.Model
	for i, model := range models {
		check, resp := ask(ctx, s.Model, model, tools, request)
		if len(models) > 1 {
			check.Text = fmt.Sprintf("key %d of %d: %s", i+1, len(models), check.Text)
		}
		checks = append(checks, check)
		if resp != nil {
			last, works = resp, model
		}
	}
	if len(found.Dropped) > 0 {
		checks = append(checks, Check{"parameters", Warning, "not sent, since the provider does not take them: model_kwargs." +
			strings.Join(found.Dropped, ", model_kwargs."), "remove them if that is not wanted"})
	}
	if last != nil {
		checks = append(checks, checkPrice(found, last), checkImages(ctx, s.Model, found, works))
	}
	return checks
}

// checkImages says whether a model takes images.
func checkImages(ctx context.Context, name string, found catalogue.Model, model llm.Model) Check {
	const without = "a run without images: `-c agent.images=false`"
	if found.Sight.Blind {
		return Check{"images", Good, name + " takes none, by model.litellm_model_registry: rows with images are refused", without}
	}
	var b bytes.Buffer
	const side = 64                                                 // pixels; some models refuse less
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))) // memory takes everything
	check, resp := ask(ctx, name, model, nil, request, llm.Image{MediaType: "image/png", Data: b.Bytes()})
	if resp == nil {
		return Check{"images", Warning, name + " took none: " + check.Text, without}
	}
	return Check{"images", Good, name + " takes them", ""}
}

// ask makes one small call. The response is nil if it failed.
func ask(ctx context.Context, name string, model llm.Model, tools []llm.Tool, say ...llm.Part) (Check, *llm.Response) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	resp, err := model.Generate(limited, &llm.Request{Tools: tools, Messages: []llm.Message{
		{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "This is a check of the connection."}}},
		{Role: llm.RoleUser, Parts: say},
	}})
	took := time.Since(start)
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		return Check{
			"model", Bad, fmt.Sprintf("%s did not answer within %v", name, patience),
			"try again later; if it is slow but works, a run waits longer: see model.model_kwargs.timeout",
		}, nil
	case err != nil:
		return failed(err), nil
	}
	return Check{"model", Good, fmt.Sprintf("%s answered in %.1f s as %s: %s in, %s out",
		name, took.Seconds(), cmp.Or(resp.Model, "(no model id)"), tokens(resp.Usage.Input), tokens(resp.Usage.Output)), ""}, resp
}

// failed returns the check for a model that could not be set up or called.
func failed(err error) Check {
	hint := fault.HintOf(err)
	if wrong, ok := errors.AsType[*llm.Lasting](err); ok && wrong.Hint != "" {
		hint = wrong.Hint
	}
	if _, ok := errors.AsType[*llm.RateLimited](err); ok && hint == "" {
		hint = "the provider limits how many requests it answers, or is overloaded: wait, or ask it for a higher limit;\na run waits and tries again by itself"
	}
	if hint == "" && fault.KindOf(err) == fault.Transient {
		hint = "try again in a minute; a run tries again by itself"
	}
	return Check{"model", Bad, err.Error(), cmp.Or(hint, "change the model's settings, or name another model with -m")}
}

// checkPrice says what is known about the model's price, and what this call cost.
func checkPrice(m catalogue.Model, resp *llm.Response) Check {
	cost := fmt.Sprintf("this call cost %s USD", amount(resp.Cost))
	text := "unknown"
	if m.Price != nil {
		text = fmt.Sprintf("%s USD in and %s USD out per million tokens", amount(m.Price.Input*1e6), amount(m.Price.Output*1e6))
	}
	switch {
	case m.Cost == catalogue.Uncounted && resp.Cost == 0:
		return Check{"price", Good, "unknown: each call costs what its answer says; this one says nothing", ""}
	case m.Price == nil && resp.Priced:
		return Check{"price", Good, "the provider reports what each call costs; " + cost, ""}
	case resp.Priced:
		return Check{"price", Good, text + "; " + cost, ""}
	case m.Price != nil && resp.Service != "":
		text += ", but not of calls such as this one (" + resp.Service + ")"
	case m.Price != nil:
		text += ", but not of calls such as this one"
	}
	return Check{
		"price", Warning, text + ": costs cannot be counted, nor limited",
		"give the price with `-c model.litellm_model_registry=prices.json` (a file in LiteLLM's form),\n" +
			"or run without counting: `-c model.cost_tracking=ignore_errors`",
	}
}

// amount formats US dollars, with at least two decimals.
func amount(usd float64) string {
	text := fmt.Sprintf("%.6f", usd)
	whole, part, _ := strings.Cut(text, ".")
	for len(part) > 2 && strings.HasSuffix(part, "0") {
		part = part[:len(part)-1]
	}
	return whole + "." + part
}

func tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return fmt.Sprintf("%d tokens", n)
}
