package knowledge

import "reflect"

// UserFile is the type of a ladder.yaml.
var UserFile = reflect.TypeFor[userFile]()
