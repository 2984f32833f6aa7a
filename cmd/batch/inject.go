package main

import "batch.example/batch/internal/inject"

// engineHook asks the plan before each call to the engine; nil for no plan.
func engineHook(p *inject.Plan) func(call string) error {
	if p == nil {
		return nil
	}
	return func(call string) error { return p.At("engine." + call) }
}

// modelHook asks the plan around each call to the model; nil for no plan.
func modelHook(p *inject.Plan) func(point string) error {
	if p == nil {
		return nil
	}
	return p.At
}
