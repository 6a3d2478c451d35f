# SPDX-License-Identifier: GPL-3.0-or-later
"""What errors and reports say, in Japanese and Simplified Chinese; `translations.tr` looks here."""

# What the native module says of files, which `reader_texts` recognises, and the parts of a file.
READER = {
    "{what} (byte {byte})": ("{what}（{byte} バイト目）", "{what}（第 {byte} 字节）"),
    "{section}: {what}": ("{section}: {what}", "{section}：{what}"),
    "not a {kind} file": ("{kind} ファイルではありません", "不是 {kind} 文件"),
    "the file ends at byte {size}, in the middle of a record": (
        "ファイルがデータの途中、{size} バイト目で終わっています",
        "文件在第 {size} 字节处、数据中途结束",
    ),
    "the file ends at byte {size}, in record {record} of {count}": (
        "ファイルが {size} バイト目、{count} 件中 {record} 件目の途中で終わっています",
        "文件在第 {size} 字节处、共 {count} 条中的第 {record} 条结束",
    ),
    "{count} {things} need {size} bytes each, {left} bytes are left": (
        "{things} {count} 個には 1 個あたり {size} バイト必要ですが、残りは {left} バイトです",
        "{count} 个{things}各需要 {size} 字节，但只剩 {left} 字节",
    ),
    "{count} keys of {names} IK names, limit {limit} states": (
        "IK 名 {names} 個のキーが {count} 個あり、状態数の上限 {limit} を超えています",
        "{names} 个 IK 名称有 {count} 个关键帧，超过状态数上限 {limit}",
    ),
    "PMX version {version}, 2.0 and 2.1 can be read": (
        "PMX バージョン {version} です。読み込めるのは 2.0 と 2.1 です",
        "PMX 版本为 {version}，只能读取 2.0 和 2.1",
    ),
    "PMD version {version}, 1.0 can be read": (
        "PMD バージョン {version} です。読み込めるのは 1.0 です",
        "PMD 版本为 {version}，只能读取 1.0",
    ),
    "{count} settings, at least 8 are needed": (
        "設定が {count} 個しかありません。8 個以上必要です",
        "只有 {count} 项设置，至少需要 8 项",
    ),
    "text encoding {number}, known are 0 (UTF-16) and 1 (UTF-8)": (
        "文字コード {number} は不明です。使えるのは 0 (UTF-16) と 1 (UTF-8) です",
        "未知的文本编码 {number}，可用的是 0 (UTF-16) 和 1 (UTF-8)",
    ),
    "{count} additional UVs, limit 4": (
        "追加 UV が {count} 個あり、上限の 4 を超えています",
        "附加 UV 有 {count} 个，超过上限 4",
    ),
    "{count} {things}, limit {limit}": (
        "{things}が {count} 個あり、上限の {limit} を超えています",
        "{things}有 {count} 个，超过上限 {limit}",
    ),
    "index size {size}, known are 1, 2 and 4": (
        "インデックスのサイズ {size} は不明です。使えるのは 1、2、4 です",
        "未知的索引大小 {size}，可用的是 1、2 和 4",
    ),
    "deform type {number}, known are 0 to {last}": (
        "変形方式 {number} は不明です。使えるのは 0 から {last} です",
        "未知的变形类型 {number}，可用的是 0 到 {last}",
    ),
    "morph type {number}, known are 0 to {last}": (
        "モーフの種類 {number} は不明です。使えるのは 0 から {last} です",
        "未知的变形（表情）类型 {number}，可用的是 0 到 {last}",
    ),
    "a number is missing": ("数値がありません", "缺少数值"),
    "the block's }} is missing": ("ブロックの }} がありません", "缺少块的 }}"),
    "PMX or PMD": ("PMX または PMD", "PMX 或 PMD"),
    "VMD or VPD": ("VMD または VPD", "VMD 或 VPD"),
    "header": ("ヘッダー", "文件头"),
    "vertices": ("頂点", "顶点"),
    "faces": ("面", "面"),
    "textures": ("テクスチャ", "纹理"),
    "materials": ("材質", "材质"),
    "bones": ("ボーン", "骨骼"),
    "ik": ("IK", "IK"),
    "IK links": ("IK リンク", "IK 链接"),
    "IK states": ("IK の状態", "IK 状态"),
    "morphs": ("モーフ", "表情"),
    "morphs shown": ("表示するモーフ", "显示的表情"),
    "offsets": ("オフセット", "偏移"),
    "display_frames": ("表示枠", "显示枠"),
    "frame names": ("表示枠の名前", "显示枠名称"),
    "frame entries": ("表示枠の項目", "显示枠条目"),
    "elements": ("要素", "元素"),
    "english": ("英語名", "英文名"),
    "toons": ("トゥーン", "卡通纹理"),
    "rigid_bodies": ("剛体", "刚体"),
    "rigid bodies": ("剛体", "刚体"),
    "joints": ("Joint", "关节"),
    "soft_bodies": ("ソフトボディ", "软体"),
    "anchors": ("アンカー", "锚点"),
    "pins": ("ピン", "固定点"),
    "camera": ("カメラ", "镜头"),
    "light": ("照明", "灯光"),
    "shadow": ("影", "阴影"),
    "properties": ("モデルのキー", "模型关键帧"),
    "records": ("データ", "数据"),
}

# English: (Japanese, Chinese)
SENTENCES = {
    # The model.
    "No object is active: select any object of an MMD model": (
        "アクティブなオブジェクトがありません。MMD モデルのオブジェクトを選択してください",
        "没有活动物体：请选择 MMD 模型的任一物体",
    ),
    "'{name}' has no armature: select an object of an MMD model": (
        "「{name}」にアーマチュアがありません。MMD モデルのオブジェクトを選択してください",
        "“{name}”没有骨架：请选择 MMD 模型的物体",
    ),
    "'{name}' has no mesh with an Armature modifier for '{armature}'": (
        "「{name}」には「{armature}」のアーマチュアモディファイアーを持つメッシュがありません",
        "“{name}”没有以“{armature}”为骨架修改器目标的网格",
    ),
    "This scene has no MMD model: no armature deforms a mesh": (
        "このシーンに MMD モデルがありません。メッシュを変形するアーマチュアがありません",
        "此场景中没有 MMD 模型：没有使网格变形的骨架",
    ),
    "No vertex group of '{name}' is named after a deforming bone of '{armature}'": (
        "「{name}」に「{armature}」の変形ボーンと同名の頂点グループがありません",
        "“{name}”没有与“{armature}”的形变骨骼同名的顶点组",
    ),
    "'{name}' has no vertices": ("「{name}」に頂点がありません", "“{name}”没有顶点"),
    "'{name}' has no Armature modifier for '{armature}'": (
        "「{name}」に「{armature}」のアーマチュアモディファイアーがありません",
        "“{name}”没有以“{armature}”为目标的骨架修改器",
    ),
    "'{name}' has an attribute named '{attribute}': rename or remove it first": (
        "「{name}」に「{attribute}」という属性があります。先に名前を変更するか削除してください",
        "“{name}”有名为“{attribute}”的属性：请先重命名或移除",
    ),
    "There is not enough memory for {count} frames": (
        "{count} フレーム分のメモリーが足りません",
        "内存不足以容纳 {count} 帧",
    ),
    "'{file}' would be keyed on {count} frames, more than {most}: choose a larger step": (
        "「{file}」のキーは {count} フレームで上限 {most} を超えます。ステップを大きくしてください",
        "“{file}”将在 {count} 帧上插入关键帧，超过上限 {most}：请选择更大的步长",
    ),
    "'{name}' has a scale of zero": (
        "「{name}」のスケールがゼロです",
        "“{name}”的缩放为零",
    ),
    "'{name}' cannot be skinned: {reason}": (
        "「{name}」をスキニングできません: {reason}",
        "无法对“{name}”蒙皮：{reason}",
    ),
    "'{name}' cannot be skinned at frame {frame}: the pose of bone '{bone}' is not a number": (
        (
            "「{name}」をフレーム {frame} でスキニングできません: "
            "ボーン「{bone}」のポーズが数値ではありません"
        ),
        "无法在第 {frame} 帧对“{name}”蒙皮：骨骼“{bone}”的姿态不是有效数值",
    ),
    "'{name}' was saved by a newer MMD Skin: update the add-on": (
        "「{name}」は新しい MMD Skin で保存されています。アドオンを更新してください",
        "“{name}”由较新版本的 MMD Skin 保存：请更新插件",
    ),
    "'{name}' is linked from another file and cannot be live:"
    " make a library override of a live model, or append it": (
        (
            "「{name}」は別のファイルからリンクされているため、ライブ表示できません。"
            "ライブ状態のモデルをライブラリオーバーライドするか、アペンドしてください"
        ),
        "“{name}”是从其他文件关联的，无法实时显示：请为已启用的模型创建库重写，或追加该模型",
    ),
    "'{name}' is a library override of a model that is not live in its own file:"
    " switch MMD Skinning on there, or append the model": (
        (
            "「{name}」は、元のファイルでライブ表示がオフのモデルのライブラリオーバーライドです。"
            "元のファイルで MMD スキニングをオンにするか、モデルをアペンドしてください"
        ),
        "“{name}”是库重写，而原文件中的模型未开启实时显示：请在原文件中开启 MMD 蒙皮，或追加该模型",
    ),
    "'{name}' is no longer live: its driver, attribute or modifier is gone or off;"
    " switch MMD Skinning on again": (
        (
            "「{name}」のライブ表示が止まっています。ドライバー、属性、モディファイアーの"
            "どれかが削除されたか無効です。MMD スキニングをもう一度オンにしてください"
        ),
        "“{name}”已不再实时显示：其驱动器、属性或修改器已被移除或关闭；请重新开启 MMD 蒙皮",
    ),
    # What must be done first.
    "Leave edit and sculpt mode first": (
        "先に編集モードやスカルプトモードを終了してください",
        "请先退出编辑模式和雕刻模式",
    ),
    "Leave edit, pose and sculpt mode first": (
        "先に編集モード、ポーズモード、スカルプトモードを終了してください",
        "请先退出编辑模式、姿态模式和雕刻模式",
    ),
    "Switch to object mode first": (
        "先にオブジェクトモードに切り替えてください",
        "请先切换到物体模式",
    ),
    "Switch to object or pose mode first": (
        "先にオブジェクトモードまたはポーズモードに切り替えてください",
        "请先切换到物体模式或姿态模式",
    ),
    "'{name}' is in edit mode: leave edit mode first": (
        "「{name}」は編集モードです。先に編集モードを終了してください",
        "“{name}”处于编辑模式：请先退出编辑模式",
    ),
    "'{name}' is in edit mode: switch to object mode first": (
        "「{name}」は編集モードです。先にオブジェクトモードに切り替えてください",
        "“{name}”处于编辑模式：请先切换到物体模式",
    ),
    "'{name}' is in sculpt mode: switch to object mode first": (
        "「{name}」はスカルプトモードです。先にオブジェクトモードに切り替えてください",
        "“{name}”处于雕刻模式：请先切换到物体模式",
    ),
    "'{name}' is disabled in viewports: enable it first": (
        "「{name}」はビューポートで無効になっています。先に有効にしてください",
        "“{name}”已在视图中禁用：请先启用",
    ),
    "'{name}' is linked from another file: append it or make it local first": (
        "「{name}」は別のファイルからリンクされています。先にアペンドするかローカル化してください",
        "“{name}”是从其他文件关联的：请先追加或将其本地化",
    ),
    "'{name}' is linked from another file: make a library override first": (
        (
            "「{name}」は別のファイルからリンクされています。"
            "先にライブラリオーバーライドを作成してください"
        ),
        "“{name}”是从其他文件关联的：请先创建库重写",
    ),
    "The mesh of '{name}' is used by {count} objects: make it single-user first": (
        (
            "「{name}」のメッシュは {count} 個のオブジェクトで使われています。"
            "先にシングルユーザー化してください"
        ),
        "“{name}”的网格被 {count} 个物体使用：请先使其单用户化",
    ),
    "'{name}' has absolute shape keys: switch its shape keys to Relative first": (
        "「{name}」のシェイプキーは絶対です。先に「相対」に切り替えてください",
        "“{name}”使用绝对形态键：请先将其形态键切换为“相对”",
    ),
    "Shape key '{key}' of '{name}' has {points} points but the mesh has {vertices} vertices": (
        "「{name}」のシェイプキー「{key}」は {points} 点ですが、メッシュは {vertices} 頂点です",
        "“{name}”的形态键“{key}”有 {points} 个点，但网格有 {vertices} 个顶点",
    ),
    "The shape keys of '{name}' are in tweak mode: leave it first": (
        "「{name}」のシェイプキーは NLA の調整モードです。先に終了してください",
        "“{name}”的形态键处于 NLA 调整模式：请先退出",
    ),
    "'{name}' shows only its active shape key: unpin it first": (
        "「{name}」はアクティブなシェイプキーだけを表示しています。先にピン留めを外してください",
        "“{name}”只显示活动形态键：请先取消固定",
    ),
    "Modifier '{modifier}' of '{name}' stands before the Armature modifier: move it below": (
        (
            "「{name}」のモディファイアー「{modifier}」がアーマチュアモディファイアーより前にあります。"
            "後ろに移動してください"
        ),
        "“{name}”的修改器“{modifier}”位于骨架修改器之前：请将其移到后面",
    ),
    "'{name}' is baked: clear the bake first": (
        "「{name}」はベイク済みです。先にベイクをクリアしてください",
        "“{name}”已烘焙：请先清除烘焙",
    ),
    # Bake.
    "MMD Skin: frame {done} of {total}   Esc: cancel": (
        "MMD Skin: フレーム {done} / {total}   Esc: キャンセル",
        "MMD Skin：第 {done} 帧，共 {total} 帧   Esc：取消",
    ),
    "Baked {frames}: {meshes}, {vertices} vertices": (
        "{frames}をベイクしました: {meshes}、{vertices} 頂点",
        "已烘焙{frames}：{meshes}，{vertices} 个顶点",
    ),
    "frame {frame}": ("フレーム {frame} ", "第 {frame} 帧"),
    "{count} frames": ("{count} フレーム", " {count} 帧"),
    "1 mesh": ("1 メッシュ", "1 个网格"),
    "{count} meshes": ("{count} メッシュ", "{count} 个网格"),
    "The bake was cancelled: nothing has changed": (
        "ベイクをキャンセルしました。何も変更されていません",
        "烘焙已取消：没有任何更改",
    ),
    "Cleared the bake of {meshes}": (
        "ベイクをクリアしました: {meshes}",
        "已清除烘焙：{meshes}",
    ),
    "This model has no bake to clear": (
        "このモデルにはクリアするベイクがありません",
        "此模型没有可清除的烘焙",
    ),
    "There is no frame from {first} to {last}": (
        "{first} から {last} までの範囲にフレームがありません",
        "从 {first} 到 {last} 之间没有帧",
    ),
    "The model was removed during the bake": (
        "ベイク中にモデルが削除されました",
        "烘焙期间模型被移除",
    ),
    "'{name}' was edited during the bake": (
        "ベイク中に「{name}」が編集されました",
        "烘焙期间“{name}”被编辑",
    ),
    "{count} vertices have more than four bones: the strongest four are used": (
        "{count} 個の頂点に 4 つを超えるボーンがあります。影響の大きい 4 つを使います",
        "{count} 个顶点受四根以上骨骼影响：使用权重最大的四根",
    ),
    "{count} vertices have more than four bones: the strongest four were used": (
        "{count} 個の頂点に 4 つを超えるボーンがあります。影響の大きい 4 つを使いました",
        "{count} 个顶点受四根以上骨骼影响：已使用权重最大的四根",
    ),
    # Mesh caches.
    "This file is not saved yet: save it, or choose a folder for the cache": (
        "このファイルはまだ保存されていません。保存するか、キャッシュのフォルダーを選択してください",
        "此文件尚未保存：请先保存，或为缓存选择文件夹",
    ),
    "The folder '{folder}' for the cache does not exist: make it first": (
        "キャッシュのフォルダー「{folder}」がありません。先に作成してください",
        "缓存文件夹“{folder}”不存在：请先创建",
    ),
    "The cache '{path}' cannot be written: {reason}": (
        "キャッシュ「{path}」に書き込めません: {reason}",
        "无法写入缓存“{path}”：{reason}",
    ),
    # Corrective keys.
    "'{name}' has {count} Armature modifiers: corrective keys need just one": (
        (
            "「{name}」にアーマチュアモディファイアーが {count} 個あります。"
            "補正キーには 1 個だけ必要です"
        ),
        "“{name}”有 {count} 个骨架修改器：矫正形态键只允许有一个",
    ),
    "Modifier '{modifier}' of '{name}' is switched off:"
    " corrective keys need it in viewport and renders": (
        (
            "「{name}」のモディファイアー「{modifier}」がオフです。"
            "補正キーにはビューポートとレンダーの両方で必要です"
        ),
        "“{name}”的修改器“{modifier}”已关闭：矫正形态键需要它在视图和渲染中都启用",
    ),
    "Modifier '{modifier}' of '{name}' has Preserve Volume on: switch it off first": (
        "「{name}」のモディファイアー「{modifier}」で「体積を維持」がオンです。先にオフにしてください",
        "“{name}”的修改器“{modifier}”开启了“维持体积”：请先将其关闭",
    ),
    "Modifier '{modifier}' of '{name}' uses bone envelopes: let it use vertex groups only": (
        (
            "「{name}」のモディファイアー「{modifier}」がボーンエンベロープを使っています。"
            "頂点グループだけを使うようにしてください"
        ),
        "“{name}”的修改器“{modifier}”使用骨骼封套：请让它只使用顶点组",
    ),
    "Bone '{bone}' multiplies vertex groups by its envelope: switch it off": (
        "ボーン「{bone}」は頂点グループにエンベロープを乗算しています。オフにしてください",
        "骨骼“{bone}”将顶点组与封套相乘：请将其关闭",
    ),
    "Bone '{bone}' has several segments: let it have one": (
        "ボーン「{bone}」に複数のセグメントがあります。1 つにしてください",
        "骨骼“{bone}”有多个分段：请改为一个",
    ),
    "{count} times a vertex of '{name}' is folded so flat that no shape key can bring it back wholly": (
        "「{name}」の頂点が平らにつぶれ、シェイプキーでは完全に戻せない箇所が {count} 件あります",
        "“{name}”的顶点有 {count} 次被压得过平，形态键无法使其完全恢复",
    ),
    "{count} times a vertex of '{name}' needs correction where no joint is turned: it is left out": (
        (
            "「{name}」の頂点で、関節が回転していないのに補正が必要な箇所が {count} 件あります。"
            "これらは除外します"
        ),
        "“{name}”的顶点有 {count} 次在没有关节旋转时需要矫正：已忽略",
    ),
    "Corrective keys of '{name}': {before:.2g} -> {after:.2g} units with {count} keys": (
        "「{name}」の補正キー: 誤差 {before:.2g} → {after:.2g}（{count} キー）",
        "“{name}”的矫正形态键：误差 {before:.2g} → {after:.2g} 单位，{count} 个键",
    ),
    "'{name}' needs no corrective keys: the Armature modifier shows the same": (
        "「{name}」に補正キーは不要です。アーマチュアモディファイアーだけで同じ形になります",
        "“{name}”不需要矫正形态键：骨架修改器显示的结果相同",
    ),
    "Driven keys bring little to '{name}' in these frames: choose keyed ones, which are exact": (
        (
            "これらのフレームでは、関節で駆動するキーは「{name}」にほとんど効果がありません。"
            "正確な「キー」を選んでください"
        ),
        "在这些帧中，由关节驱动的键对“{name}”几乎没有作用：请选择精确的“键控”",
    ),
    "Frames {frame} and {other} turn '{joint}' alike: only frame {other} is exact": (
        (
            "フレーム {frame} と {other} では「{joint}」の回転が同じです。"
            "正確なのはフレーム {other} だけです"
        ),
        "第 {frame} 帧和第 {other} 帧中“{joint}”的旋转相同：只有第 {other} 帧是精确的",
    ),
    # Export.
    "'{name}' is neither baked nor live: bake it first": (
        "「{name}」はベイクもライブ表示もされていません。先にベイクしてください",
        "“{name}”既未烘焙也未实时显示：请先烘焙",
    ),
    "The models are baked in several ways: bake them alike, or export one alone": (
        (
            "モデルごとにベイクの種類が違います。同じ種類でベイクするか、"
            "1 つずつエクスポートしてください"
        ),
        "各模型的烘焙方式不同：请以相同方式烘焙，或逐个导出",
    ),
    "{format} cannot hold a mesh cache: bake shape keys or corrective keys": (
        (
            "{format} にはメッシュキャッシュを保存できません。"
            "シェイプキーか補正キーにベイクしてください"
        ),
        "{format} 无法保存网格缓存：请烘焙为形态键或矫正形态键",
    ),
    "{format} cannot hold live skinning: bake shape keys or corrective keys first": (
        (
            "{format} にはライブのスキニングを保存できません。"
            "先にシェイプキーか補正キーにベイクしてください"
        ),
        "{format} 无法保存实时蒙皮：请先烘焙为形态键或矫正形态键",
    ),
    "{format} of this Blender holds corrective keys only where they and the armature"
    " have keyframes: bake a range of them, keyed": (
        (
            "この Blender の {format} では、補正キーとアーマチュアの両方にキーフレームが必要です。"
            "範囲を指定し、補正を「キー」にしてベイクしてください"
        ),
        (
            "此 Blender 的 {format} 只能保存自身和骨架都有关键帧的矫正形态键："
            "请烘焙一段范围，并选择“键控”"
        ),
    ),
    "This Blender was built without {format}": (
        "この Blender は {format} なしでビルドされています",
        "此 Blender 在构建时未包含 {format}",
    ),
    "Blender's exporter for {format} is off: enable it in the preferences, Add-ons": (
        (
            "Blender の {format} エクスポーターがオフです。"
            "プリファレンスの「アドオン」で有効にしてください"
        ),
        "Blender 的 {format} 导出器已关闭：请在偏好设置的“插件”中启用",
    ),
    "{format} begins at frame 0: bake from frame 0 on, or use Alembic": (
        "{format} はフレーム 0 から始まります。フレーム 0 以降をベイクするか、Alembic を使ってください",
        "{format} 从第 0 帧开始：请从第 0 帧起烘焙，或使用 Alembic",
    ),
    "The collection of '{name}' is hidden: show it first": (
        "「{name}」のコレクションが非表示です。先に表示してください",
        "“{name}”所在的集合已隐藏：请先显示",
    ),
    "No file is chosen: give the path of the file to write": (
        "ファイルが選択されていません。書き出すファイルのパスを指定してください",
        "未选择文件：请指定要写入的文件路径",
    ),
    "'{file}' has no known ending: let it end in .glb, .fbx, .usdc or .abc": (
        "「{file}」の拡張子が不明です。.glb、.fbx、.usdc、.abc のどれかにしてください",
        "“{file}”的扩展名未知：请使用 .glb、.fbx、.usdc 或 .abc",
    ),
    "The folder '{folder}' does not exist: make it first": (
        "フォルダー「{folder}」がありません。先に作成してください",
        "文件夹“{folder}”不存在：请先创建",
    ),
    "'{file}' cannot be written: {reason}": (
        "「{file}」に書き込めません: {reason}",
        "无法写入“{file}”：{reason}",
    ),
    "Blender's exporter has failed": (
        "Blender のエクスポーターが失敗しました",
        "Blender 的导出器失败",
    ),
    "{format} holds shape keys only without modifiers: {modifiers} of '{name}' is left out": (
        "{format} ではシェイプキーとモディファイアーを両立できません。「{name}」の {modifiers} は除外しました",
        "{format} 的形态键无法与修改器并存：已略去“{name}”的 {modifiers}",
    ),
    "Exported '{file}'": ("「{file}」をエクスポートしました", "已导出“{file}”"),
    # Files of models and motions.
    "The file of '{name}' is not known: choose its .pmx or .pmd": (
        "「{name}」のファイルが不明です。.pmx または .pmd を選択してください",
        "“{name}”的文件未知：请选择其 .pmx 或 .pmd 文件",
    ),
    "'{file}' cannot be opened: {reason}": (
        "「{file}」を開けません: {reason}",
        "无法打开“{file}”：{reason}",
    ),
    "'{file}' cannot be read: {reason}": (
        "「{file}」を読み込めません: {reason}",
        "无法读取“{file}”：{reason}",
    ),
    "there is not enough memory": ("メモリが足りません", "内存不足"),
    "'{file}' is not a sound MMD model: {reason}": (
        "「{file}」は正しい MMD モデルではありません: {reason}",
        "“{file}”不是有效的 MMD 模型：{reason}",
    ),
    "'{file}' does not fit '{name}': {found} of its {total} bones found": (
        "「{file}」は「{name}」に合いません: {total} ボーンのうち {found} ボーンしか一致しません",
        "“{file}”与“{name}”不匹配：{total} 根骨骼中只找到 {found} 根",
    ),
    "'{file}' does not fit '{name}': its bones have the same names but other places": (
        "「{file}」は「{name}」に合いません: ボーンの名前は同じですが位置が違います",
        "“{file}”与“{name}”不匹配：骨骼名称相同但位置不同",
    ),
    "'{file}' does not fit '{name}': {found} of {total} vertices found": (
        "「{file}」は「{name}」に合いません: {total} 頂点のうち {found} 頂点しか一致しません",
        "“{file}”与“{name}”不匹配：{total} 个顶点中只找到 {found} 个",
    ),
    "No motion is chosen: choose a .vmd or .vpd": (
        "モーションが選択されていません。.vmd または .vpd を選択してください",
        "未选择动作：请选择 .vmd 或 .vpd 文件",
    ),
    "The scene has {fps} frames per second": (
        "シーンのフレームレートが毎秒 {fps} フレームです",
        "场景的帧率为每秒 {fps} 帧",
    ),
    "'{file}' moves no bone and no morph of '{name}'": (
        "「{file}」は「{name}」のどのボーンもモーフも動かしません",
        "“{file}”不驱动“{name}”的任何骨骼或变形（表情）",
    ),
    "'{file}' moves no model: it has no key of a bone or morph": (
        "「{file}」はモデルを動かしません。ボーンやモーフのキーがありません",
        "“{file}”不驱动模型：其中没有骨骼或变形（表情）的关键帧",
    ),
    # Import.
    "No file is chosen: give the path of a .pmx or .pmd file": (
        "ファイルが選択されていません。.pmx または .pmd ファイルのパスを指定してください",
        "未选择文件：请指定 .pmx 或 .pmd 文件的路径",
    ),
    "Nothing to import: choose at least one part of the model": (
        "インポートするものがありません。モデルの部分を 1 つ以上選択してください",
        "没有要导入的内容：请至少选择模型的一个部分",
    ),
    "Imported 1 model": ("1 個のモデルをインポートしました", "已导入 1 个模型"),
    "Imported {count} models": (
        "{count} 個のモデルをインポートしました",
        "已导入 {count} 个模型",
    ),
    "{count} triangles lie on another of their material and were left out": (
        "同じ材質の別の面と重なる {count} 個の三角形を除外しました",
        "已略去 {count} 个与同材质其他面重合的三角形",
    ),
    "{count} triangles use a vertex twice and were left out": (
        "同じ頂点を 2 回使う三角形 {count} 個を除外しました",
        "{count} 个三角面重复使用同一顶点，已忽略",
    ),
    "Blender has no room for the UV map '{name}'": (
        "Blender の上限のため UV マップ「{name}」を追加できません",
        "受 Blender 数量限制，无法添加 UV 贴图“{name}”",
    ),
    "The materials count {counted} triangles, the model has {total}": (
        "材質の三角形は合計 {counted} 個ですが、モデルには {total} 個あります",
        "材质共计 {counted} 个三角面，而模型有 {total} 个",
    ),
    "Texture '{path}' is missing": (
        "テクスチャ「{path}」が見つかりません",
        "找不到纹理“{path}”",
    ),
    "Texture '{path}' is not an image that Blender can read": (
        "テクスチャ「{path}」は Blender で読み込める画像ではありません",
        "纹理“{path}”不是 Blender 可以读取的图像",
    ),
    "The model lacks {count} bones of the motion": (
        "モーションにある {count} 個のボーンがモデルにありません",
        "模型缺少动作中的 {count} 根骨骼",
    ),
    "Posed {count} bones": (
        "{count} 個のボーンにポーズを適用しました",
        "已为 {count} 根骨骼应用姿态",
    ),
    "'{file}' moves '{name}'": (
        "「{file}」で「{name}」を動かします",
        "“{file}”正在驱动“{name}”",
    ),
    "'{file}' will move '{name}' when MMD Skinning is on or baked": (
        "「{file}」は、MMD スキニングをオンにするかベイクすると「{name}」を動かします",
        "“{file}”将在开启 MMD 蒙皮或烘焙时驱动“{name}”",
    ),
    "Keyed {bones} bones and {keys} shape keys on {frames} frames": (
        "{bones} 個のボーンと {keys} 個のシェイプキーに {frames} フレーム分のキーを打ちました",
        "已在 {frames} 帧上为 {bones} 根骨骼和 {keys} 个形态键插入关键帧",
    ),
    "The animation of '{name}' is in tweak mode: leave it first": (
        "「{name}」のアニメーションは NLA の調整モードです。先に終了してください",
        "“{name}”的动画处于 NLA 调整模式：请先退出",
    ),
    "Solved without a motion that was imported before: {reason}": (
        "以前にインポートしたモーションを使わずに計算しました: {reason}",
        "求解时未计入先前导入的动作：{reason}",
    ),
    "The pose source of '{name}' is its armature now": (
        "「{name}」のポーズ元をアーマチュアに切り替えました",
        "“{name}”的姿态来源已切换为骨架",
    ),
    (
        "Muted {count} constraints and drivers that would disturb the motion:"
        " Clear Motion brings them back"
    ): (
        (
            "モーションを妨げるコンストレイントとドライバー {count} 個をミュートしました。"
            "「モーションをクリア」で元に戻せます"
        ),
        "已静音 {count} 个会干扰动作的约束和驱动器：“清除动作”可将其恢复",
    ),
    "This model has no imported motion to clear": (
        "このモデルにはクリアするモーションがありません",
        "此模型没有可清除的动作",
    ),
    "Other keyframes are kept in action '{name}'": (
        "ほかのキーフレームはアクション「{name}」に残しました",
        "其他关键帧保留在动作数据块“{name}”中",
    ),
    "Cleared the motion of {count} models": (
        "{count} 個のモデルのモーションをクリアしました",
        "已清除 {count} 个模型的动作",
    ),
    "{count} vertices have no match in '{file}' and keep what they have": (
        "{count} 個の頂点は「{file}」に一致するものがなく、元のままです",
        "{count} 个顶点在“{file}”中没有匹配，保持原样",
    ),
    "Restored {count} vertices from '{file}'": (
        "「{file}」から {count} 個の頂点を復元しました",
        "已从“{file}”恢复 {count} 个顶点",
    ),
    # The native module.
    "MMD Skin has no native module for {system} on {machine} with Python {python}:"
    " it is made for {available}, with Python 3.10 or newer": (
        (
            "{system}（{machine}、Python {python}）用の MMD Skin のネイティブモジュールはありません。"
            "対応しているのは {available}、Python 3.10 以降です"
        ),
        (
            "MMD Skin 没有适用于 {system}（{machine}，Python {python}）的原生模块："
            "它支持 {available}，Python 3.10 或更新版本"
        ),
    ),
    "The native module of MMD Skin is missing, perhaps removed by a virus scanner:"
    " install the add-on's zip again, then restart Blender": (
        (
            "MMD Skin のネイティブモジュールがありません（ウイルス対策ソフトが削除した可能性があります）。"
            "アドオンの zip をもう一度インストールし、Blender を再起動してください"
        ),
        "缺少 MMD Skin 的原生模块（可能被杀毒软件删除）：请重新安装插件的 zip 文件，然后重启 Blender",
    ),
    "The native module of MMD Skin cannot be loaded on this system: {reason}": (
        "このシステムでは MMD Skin のネイティブモジュールを読み込めません: {reason}",
        "无法在此系统上加载 MMD Skin 的原生模块：{reason}",
    ),
    "MMD Skin needs version {required} of its native module but {version} is loaded:"
    " restart Blender": (
        (
            "MMD Skin にはネイティブモジュールのバージョン {required} が必要ですが、"
            "{version} が読み込まれています。Blender を再起動してください"
        ),
        "MMD Skin 需要 {required} 版的原生模块，但已加载的是 {version} 版：请重启 Blender",
    ),
    "The native module of MMD Skin cannot be unpacked: {reason}": (
        "MMD Skin のネイティブモジュールを展開できません: {reason}",
        "无法解包 MMD Skin 的原生模块：{reason}",
    ),
}
