package grade

import (
	"errors"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
)

// Judge grades a log. evalType is [PassAndFail] or [FailOnly]. An error is a *[fault.Error] of kind
// Instance: the parser failed, or evalType is unknown. Then there is no verdict.
func Judge(l Log, parse Parse, t Tests, evalType string, r logparse.Rules) (Judgement, error) {
	reading, err := Read(l, parse, evalType, r)
	if err != nil {
		return Judgement{}, err
	}
	return reading.Judge(t), nil
}

// parseError makes a parser's error a fault.
func parseError(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.New(fault.Instance, "reading the test log", err)
}
