// Types whose fields are visited by name: a printer and a parser made of one list, `visit(name, field)` for
// each.
#pragma once

#include <type_traits>

namespace peraxis::base {

// T, const or not. A type that has no list then does not compile.
template <class T, class Type>
concept Is = std::is_same_v<std::remove_const_t<T>, Type>;

}  // namespace peraxis::base
