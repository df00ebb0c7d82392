// Command lua runs health checks as Argo CD does: it reads pairs of a script and an object from standard input, and
// writes a list of verdicts in the same order. As in Argo CD, a script has the libraries base, package and table, but
// not string; it has one second, and the object as the global obj; for an object that is being deleted no script runs.
// See tests/apiserver/gitops/.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// question is a script and the object that it checks.
type question struct {
	Script string         `json:"script"`
	Object map[string]any `json:"object"`
}

// verdict is the result of the script.
type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(input io.Reader, output io.Writer) error {
	var questions []question
	if err := json.NewDecoder(input).Decode(&questions); err != nil {
		return err
	}
	verdicts := make([]verdict, 0, len(questions))
	for _, question := range questions {
		verdict, err := ask(question)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, verdict)
	}
	return json.NewEncoder(output).Encode(verdicts)
}

func ask(question question) (verdict, error) {
	if metadata, ok := question.Object["metadata"].(map[string]any); ok && metadata["deletionTimestamp"] != nil {
		return verdict{Status: "Progressing", Message: "Pending deletion"}, nil
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return verdict{}, err
		}
	}
	soon, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(soon)
	state.SetGlobal("obj", value(state, question.Object))
	if err := state.DoString(question.Script); err != nil {
		return verdict{}, err
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return verdict{}, errors.New("the script does not return a table")
	}
	status, message := answer.RawGetString("status"), answer.RawGetString("message")
	switch said := status.String(); said {
	case "Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown":
		return verdict{Status: said, Message: lua.LVAsString(message)}, nil
	default:
		return verdict{}, fmt.Errorf("no health status: %q", said)
	}
}

// value converts a JSON value to Lua: null becomes nil, numbers become floating point.
func value(state *lua.LState, from any) lua.LValue {
	switch from := from.(type) {
	case bool:
		return lua.LBool(from)
	case float64:
		return lua.LNumber(from)
	case string:
		return lua.LString(from)
	case []any:
		list := state.CreateTable(len(from), 0)
		for _, item := range from {
			list.Append(value(state, item))
		}
		return list
	case map[string]any:
		table := state.CreateTable(0, len(from))
		for name, item := range from {
			table.RawSetString(name, value(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
