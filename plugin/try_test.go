package plugin
import ("testing";"os";"fmt";"time"
"github.com/ladder-cmp/ladder/object"
"github.com/ladder-cmp/ladder/graph"
"github.com/ladder-cmp/ladder/knowledge"
"github.com/ladder-cmp/ladder/wave")
func TestTry(t *testing.T){
 b,_ := os.ReadFile(os.Getenv("TRY"))
 t0:=time.Now()
 objs, err := object.Parse("x",1,string(b)); if err!=nil {fmt.Println(err)}
 t1:=time.Now()
 g, err := graph.Build(objs, knowledge.Default(), graph.Options{Namespace:"ns"}); if err!=nil {fmt.Println(err);return}
 t2:=time.Now()
 if os.Getenv("G")!="" {fmt.Println(g)}
 p, err := wave.Assign(g, knowledge.Default()); if err!=nil {fmt.Println(err);return}
 t3:=time.Now()
 _,err=p.Annotate(); if err!=nil {fmt.Println(err)}
 fmt.Println("parse",t1.Sub(t0),"graph",t2.Sub(t1),"assign",t3.Sub(t2),"annotate",time.Since(t3))
 for _,r := range p.Table() { fmt.Printf("%-8s %-12s %-60s %s\n", r.Wave,r.Rung,r.Object,r.Why) }
 for _,f := range p.Findings { fmt.Println("!",f) }
}
