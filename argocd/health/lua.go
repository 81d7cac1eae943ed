package health

import (
	"context"
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// Run runs a health check like Argo CD (util/lua): with only the base, package and
// table libraries, the object as the global obj, and a table as the result. Endless
// scripts are stopped with the context. Scripts cannot access files.
func Run(ctx context.Context, script string, obj map[string]any) (status, message string, err error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	l.SetContext(ctx)
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(lib.open), Protect: true}, lua.LString(lib.name)); err != nil {
			return "", "", err
		}
	}
	for _, name := range []string{"dofile", "loadfile", "require", "module", "print", lua.LoadLibName} {
		l.SetGlobal(name, lua.LNil)
	}
	l.SetGlobal("obj", luaValue(l, obj))
	if err := l.DoString(script); err != nil {
		return "", "", err
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("no table comes back, but %v", l.Get(-1))
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String(), nil
}

// luaValue converts a decoded manifest to a Lua value.
func luaValue(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, luaValue(l, item))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(luaValue(l, item))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}
