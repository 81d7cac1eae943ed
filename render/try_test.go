package render
import ("testing";"os";"context";"fmt";"strings")
func TestTry(t *testing.T){
 root, _ := os.OpenRoot("/"); 
 res, err := Dir(context.Background(), root.FS(), strings.TrimPrefix(os.Getenv("TRY"),"/"), Options{Name:"rel",Namespace:"ns", Values: Values{Read: os.ReadFile}})
 if err!=nil {fmt.Println(err)}
 for _,o := range res.Objects { fmt.Println(o.ID, o.File, o.Line) }
}
