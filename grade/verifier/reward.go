package verifier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

const (
	rewardJSON = logs + "/reward.json"
	rewardText = logs + "/reward.txt"
	rewardKey  = "reward" // the name of a number in rewardText
)

// parseJSON reads reward.json: an object with at least one name, and with numbers only.
func parseJSON(data []byte) (map[string]float64, error) {
	fail := func(format string, args ...any) (map[string]float64, error) {
		return nil, fmt.Errorf(rewardJSON+" is not an object of numbers: "+format, args...)
	}
	if len(data) > mostReward {
		return fail("it has %d bytes", len(data))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var members map[string]any
	if err := dec.Decode(&members); err != nil {
		return fail("%v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail("there is more after it")
	}
	rewards := map[string]float64{}
	for name, v := range members {
		n, ok := v.(json.Number)
		f, err := n.Float64()
		if !ok || err != nil {
			return fail("%.80q is %.80s", name, fmt.Sprint(v))
		}
		rewards[name] = f
	}
	if len(rewards) == 0 {
		return fail("it is empty")
	}
	return rewards, nil
}

// parseText reads reward.txt: one number.
func parseText(data []byte) (map[string]float64, error) {
	text := strings.TrimSpace(string(data))
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(text, "xX") { // as in Python
		return nil, fmt.Errorf(rewardText+" is not a number: %.80q", text)
	}
	return map[string]float64{rewardKey: f}, nil
}

// score returns the reward that decides; nil: there is none.
func score(rewards map[string]float64) *float64 { return (&grades.Grade{Rewards: rewards}).Reward() }

// judge returns the verdict of rewards: a task is resolved if the reward is 1.
func judge(rewards map[string]float64, err error) *Verdict {
	if err != nil {
		return noReward("%v", err)
	}
	v := &Verdict{Verdict: vocab.VerdictUnresolved, Rewards: rewards}
	switch s := score(rewards); {
	case s == nil:
		v.Why = fmt.Sprintf("none of %d rewards has the name %s", len(rewards), rewardKey)
	case *s == 1:
		v.Verdict = vocab.VerdictResolved
	default:
		v.Why = fmt.Sprintf("the reward is %v", *s)
	}
	return v
}
